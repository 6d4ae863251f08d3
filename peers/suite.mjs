// Runs every server scenario of the official conformance suite, and prints which pass.
//
//     suite.mjs [NAME=]URL...          one column of results a server
//     suite.mjs --scored URL...        only what counts for a revision
//     suite.mjs --only WORD URL...     scenarios with that word in their name; --revision R: of that revision
//     suite.mjs --json FILE URL...     writes what failed, check by check
//
// A scenario passes if nothing in it failed, nothing was a warning, and something was checked. It exits with 1 if one
// that passes for the first server does not pass for another, or if a scored one fails for the first.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const PEERS = process.env.SWITCHBOARD_PEERS ?? join(import.meta.dirname, '../target/peers');
const SUITE = join(PEERS, 'node_modules/@modelcontextprotocol/conformance');
const REVISIONS = ['2025-06-18', '2025-11-25', '2026-07-28'];

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        only: { type: 'string', default: '' },
        revision: { type: 'string', default: '' },
        scored: { type: 'boolean', default: false },
        json: { type: 'string' }
    }
});
const servers = positionals.map((word, at) => {
    const [, name, url] = /^(?:([\w-]+)=)?(.+)$/.exec(word);
    return { name: name ?? (at === 0 ? 'direct' : `server ${at + 1}`), url };
});

function run(args) {
    return new Promise(done => {
        const child = spawn(join(PEERS, 'node'), [join(SUITE, 'dist/index.js'), ...args], {
            stdio: ['ignore', 'pipe', 'pipe']
        });
        let output = '';
        child.stdout.on('data', data => (output += data));
        child.stderr.on('data', data => (output += data));
        child.on('close', code => done({ code, output }));
    });
}

/// The scenarios there are, and where each belongs.
async function scenarios() {
    const { output } = await run(['list', '--server']);
    const found = [...output.matchAll(/^ {2}- (\S+) \[([^\]]+)\]$/gm)];
    return found.flatMap(([, scenario, of]) =>
        REVISIONS.filter(revision =>
            of === 'extension' ? revision === '2026-07-28' : of.split(',').includes(revision)
        ).map(revision => ({ scenario, revision, isExtension: of === 'extension' }))
    );
}

/// The scenarios that count for a revision. One without a list has none that do not count.
function scored(revision) {
    try {
        const section = /^server:\n((?: {2}- .*\n)+)/m.exec(
            readFileSync(join(SUITE, `requirements/${revision}.yaml`), 'utf8')
        );
        const names = [...section[1].matchAll(/- (\S+)/g)].map(([, name]) => name);
        return name => names.includes(name);
    } catch {
        return () => true;
    }
}

/// What came of scenarios, by their names: of one, or of all that belong to a revision.
async function check(url, revision, flags) {
    const directory = mkdtempSync(join(tmpdir(), 'suite-'));
    try {
        const { output } = await run(['server', '--url', url, '--spec-version', revision, '-o', directory, ...flags]);
        const found = readdirSync(directory).map(name => [
            /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)[1],
            judge(JSON.parse(readFileSync(join(directory, name, 'checks.json'), 'utf8')))
        ]);
        return { found: Object.fromEntries(found), output };
    } finally {
        rmSync(directory, { recursive: true });
    }
}

function judge(checks) {
    // That messages are well-formed is no sign that anything was tried.
    const counted = checks.filter(({ id, status }) => status === 'FAILURE' || id !== 'wire-schema-valid');
    const count = status => counted.filter(check => check.status === status).length;
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    return { good: count('SUCCESS'), skipped: count('SKIPPED'), bad };
}

/// What came of the rows of a revision at one server. Those that the suite leaves out are run one by one.
async function column(url, revision, rows) {
    const { found } = values.only ? { found: {} } : await check(url, revision, ['--suite', 'all']);
    const results = [];
    for (const { scenario } of rows) {
        if (!found[scenario]) {
            const alone = await check(url, revision, ['--scenario', scenario, '--force']);
            const errorMessage = alone.output.trim().slice(-600);
            const lost = { good: 0, skipped: 0, bad: [{ id: 'suite', status: 'FAILURE', errorMessage }] };
            found[scenario] = alone.found[scenario] ?? lost;
        }
        results.push(found[scenario]);
    }
    return results;
}

const passes = ({ good, bad }) => bad.length === 0 && good > 0;
const shown = result => {
    if (passes(result)) return `pass ${result.good}`;
    return result.bad.length ? `FAIL ${result.bad.length} of ${result.bad.length + result.good}` : 'nothing checked';
};

const all = (await scenarios()).map(row => ({
    ...row,
    isScored: !row.isExtension && scored(row.revision)(row.scenario)
}));
const rows = all.filter(
    ({ scenario, revision, isScored }) =>
        scenario.includes(values.only) && revision.includes(values.revision) && (isScored || !values.scored)
);
for (const revision of REVISIONS) {
    const of = rows.filter(row => row.revision === revision);
    const columns = await Promise.all(servers.map(({ url }) => column(url, revision, of)));
    for (const [at, row] of of.entries()) {
        row.results = columns.map(results => results[at]);
        process.stderr.write(`${revision} ${row.scenario}: ${row.results.map(shown).join(', ')}\n`);
    }
}

console.log(`| scenario | revision | scored | ${servers.map(({ name }) => name).join(' | ')} |`);
console.log(`|---|---|---|${servers.map(() => '---|').join('')}`);
for (const { scenario, revision, isScored, results } of rows) {
    console.log(`| ${scenario} | ${revision} | ${isScored ? 'yes' : 'no'} | ${results.map(shown).join(' | ')} |`);
}
console.log();
for (const [at, { name }] of servers.entries()) {
    for (const revision of REVISIONS) {
        const of = rows.filter(row => row.revision === revision);
        const count = rows => `${rows.filter(row => passes(row.results[at])).length} of ${rows.length}`;
        const [counted, others] = [of.filter(row => row.isScored), of.filter(row => !row.isScored)];
        console.log(`${name}, ${revision}: ${count(counted)} scored, ${count(others)} others`);
    }
}
for (const { scenario, revision, results } of rows) {
    for (const [at, { bad }] of results.entries()) {
        for (const { id, status, errorMessage } of bad) {
            console.log(
                `\n${servers[at].name}, ${revision}, ${scenario}: ${status} ${id}\n    ${errorMessage?.slice(0, 600)}`
            );
        }
    }
}
if (values.json) writeFileSync(values.json, JSON.stringify({ servers, rows }, null, 1));
const isBad = ({ isScored, results: [first, ...others] }) =>
    passes(first) ? others.some(other => !passes(other)) : isScored;
process.exit(rows.some(isBad) ? 1 : 0);
