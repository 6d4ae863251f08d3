// What a client is to do, and what it tells. All clients here take the same job, as JSON in their first argument, and print
// one line:
//
//     { connect: { url } or { command, args }, calls: [[tool, arguments]], reads: [uri], gets: [[prompt, arguments]],
//       asks: [tool, arguments], changes: tool }
//
//     { protocol, tools, resources, prompts, calls, reads, gets, asked, changed }
//
// `asks` is a tool that asks the user, who says Ada; `changes` is one that changes the list of tools. Both may be missing.
// What a client cannot do is `null`.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const PEERS = process.env.SWITCHBOARD_PEERS ?? join(import.meta.dirname, '../../target/peers');
export const require = createRequire(join(PEERS, 'package.json'));
export const job = JSON.parse(process.argv[2]);
export const ADA = { action: 'accept', content: { username: 'Ada', email: 'ada@example.com' } };

/// Does all of a job with a client of the TypeScript SDK, which is connected. `questions` are those it was asked, and
/// `changed` is kept when it is told of a change.
export async function perform(client, protocol, { questions, changed }) {
    const seen = {
        protocol,
        tools: await all(cursor => client.listTools({ cursor }), 'tools', 'name'),
        resources: await all(cursor => client.listResources({ cursor }), 'resources', 'uri'),
        prompts: await all(cursor => client.listPrompts({ cursor }), 'prompts', 'name'),
        calls: [],
        reads: [],
        gets: [],
        asked: null,
        changed: null
    };
    for (const [name, args] of job.calls) seen.calls.push((await client.callTool({ name, arguments: args })).content);
    for (const uri of job.reads) seen.reads.push((await client.readResource({ uri })).contents);
    for (const [name, args] of job.gets) seen.gets.push((await client.getPrompt({ name, arguments: args })).messages);
    if (job.asks) {
        const [name, args] = job.asks;
        const { content } = await client.callTool({ name, arguments: args });
        seen.asked = { questions, content };
    }
    if (job.changes) {
        await client.callTool({ name: job.changes, arguments: {} });
        await changed;
        seen.changed = true;
    }
    return seen;
}

/// Every page of a list. A server without it has an empty one.
async function all(list, field, name) {
    const names = [];
    let cursor;
    do {
        const page = await list(cursor).catch(error => {
            if (
                error.code === -32601 ||
                error.code === 'CAPABILITY_NOT_SUPPORTED' ||
                /does not support/.test(error.message)
            )
                return { [field]: [] };
            throw error;
        });
        names.push(...page[field].map(item => item[name]));
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return names;
}

export async function finish(client, seen) {
    process.stdout.write(`${JSON.stringify(seen)}\n`);
    await client.close();
    process.exit();
}
