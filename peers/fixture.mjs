// A server that offers everything the protocol has, in both eras, for the official conformance suite and for whoever
// stands between a client and a server. Names and texts are those the suite asks for. It needs no packages.
//
//     fixture.mjs                  serves HTTP on a free port, or --port N, and prints `listening on URL`
//     fixture.mjs --stdio          serves its standard input and output
//     fixture.mjs --sse            serves HTTP with SSE, as of 2024-11-05
//     fixture.mjs --era modern     only the protocol without a handshake; `handshake`: only the one with it
//     fixture.mjs --page N         gives lists in pages of N
//     fixture.mjs --many N         has N resources more
//     fixture.mjs --notes FILE     notes there which calls are held, and which of them were taken back
//
// It ends with its standard input.
import { parseArgs } from 'node:util';
import { serveHttp } from './fixture/http.mjs';
import { World } from './fixture/server.mjs';
import { serveSse } from './fixture/sse.mjs';
import { serveStdio } from './fixture/stdio.mjs';

const { values } = parseArgs({
    options: {
        stdio: { type: 'boolean', default: false },
        sse: { type: 'boolean', default: false },
        era: { type: 'string', default: 'both' },
        page: { type: 'string', default: '1000' },
        many: { type: 'string', default: '0' },
        notes: { type: 'string' },
        port: { type: 'string', default: '0' }
    }
});
const era = values.sse ? 'handshake' : values.era;
const world = new World({ era, page: Number(values.page), many: Number(values.many), notes: values.notes });
if (values.stdio) {
    serveStdio(world, process.stdin, process.stdout);
} else {
    const url = await (values.sse ? serveSse : serveHttp)(world, Number(values.port));
    process.stdout.write(`listening on ${url}\n`);
    process.stdin.on('end', () => process.exit()).on('error', () => process.exit());
    process.stdin.resume();
}
