// Lets the official suite, which speaks only HTTP, talk to a server that speaks stdio. The HTTP is that of the fixture
// itself, checks of headers and sessions and all; in place of the fixture's insides is a pipe.
//
//     bridge.mjs [--port N] -- COMMAND ARGS...     prints `listening on URL`, and ends with its standard input
//
// Each client with a handshake has a process of its own. Modern requests stand for themselves, so they share one; there
// each gets an id that no other has. What is said on a pipe does not always tell what it is about: then it is taken to be
// about the request that came last, which is right for one client that does one thing at a time, as the suite does.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { serveHttp } from './fixture/http.mjs';
import { KEY, Refused } from './fixture/words.mjs';

const SUBSCRIPTION = `${KEY}subscriptionId`;
const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string', default: '0' } }
});

/// The server, at the other end of a pipe.
class Pipe {
    waiting = new Map();

    constructor([command, ...args], say) {
        this.say = say;
        this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
        createInterface({ input: this.child.stdout }).on('line', line => this.hear(JSON.parse(line)));
        this.child.on('close', () => this.waiting.forEach(({ fail }) => fail(new Error('the server is gone'))));
        this.child.stdin.on('error', () => {});
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify(message)}\n`);
    }

    /// Asks; gives the whole answer. `id` is what the client calls it.
    ask(message, lane, id = message.id) {
        return new Promise((done, fail) => {
            const token = message.params?._meta?.progressToken;
            this.waiting.set(message.id, { done, fail, lane, id, token });
            this.send(message);
        });
    }

    hear(message) {
        const waiting = this.waiting.get(message.id);
        if (message.method === undefined) {
            this.waiting.delete(message.id);
            return waiting?.done(message);
        }
        const all = [...this.waiting.values()];
        const { _meta, progressToken } = message.params ?? {};
        const ear = _meta?.[SUBSCRIPTION] === undefined ? undefined : this.waiting.get(_meta[SUBSCRIPTION]);
        if (ear) {
            _meta[SUBSCRIPTION] = ear.id;
            return ear.lane.say(message);
        }
        if (/list_changed|updated$/.test(message.method)) return this.say(message);
        const about = all.find(({ token }) => token !== undefined && token === progressToken) ?? all.at(-1);
        return about ? about.lane.say(message) : this.say(message);
    }

    end() {
        this.child.kill();
    }
}

/// A client with a handshake.
class Session {
    constructor(say) {
        this.say = say;
        this.pipe = new Pipe(positionals, say);
    }

    async run(message, lane) {
        const answer = await this.pipe.ask(message, lane);
        if (message.method === 'initialize') this.version = answer.result?.protocolVersion;
        return answer;
    }

    told(message) {
        this.pipe.send(message);
    }

    answered(message) {
        this.pipe.send(message);
    }

    end() {
        this.pipe.end();
    }
}

/// What is behind the pipe.
class World {
    tools = [];
    pipe = new Pipe(positionals, () => {});
    next = 1;

    speaks() {
        return true;
    }

    session(say) {
        return new Session(say);
    }

    async answer(request, { say, stream, signal }) {
        const id = `bridge-${this.next++}`;
        const taken = this.pipe.ask({ ...request, id }, { say, stream }, request.id);
        const tell = () =>
            this.pipe.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
        signal.addEventListener('abort', tell, { once: true });
        const { result, error } = await taken;
        signal.removeEventListener('abort', tell);
        if (error) throw new Refused(error.code, error.message, error.data);
        if (result._meta?.[SUBSCRIPTION] === id) result._meta[SUBSCRIPTION] = request.id;
        return result;
    }

    /// Learns which arguments are repeated in headers.
    async look() {
        const _meta = { [`${KEY}protocolVersion`]: '2026-07-28', [`${KEY}clientCapabilities`]: {} };
        const request = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta } };
        ({ tools: this.tools } = await this.answer(request, { say() {}, signal: new AbortController().signal }));
    }
}

const world = new World();
await world.look();
process.stdout.write(`listening on ${await serveHttp(world, Number(values.port))}\n`);
process.stdin.on('end', () => process.exit()).on('error', () => process.exit());
process.stdin.resume();
process.on('exit', () => world.pipe.end());
