// Makes a server that insists on a port listen on one that is free, and says which: `listening 41234`. So two tests
// can run the same server at once. For use with `node --require any-port.cjs <server>`.
//
// KEEP_PORT=1 leaves the port alone, for servers that put it into addresses; they say which one all the same.
'use strict';
const { Server } = require('node:net');

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
    if (typeof port !== 'number' && typeof port !== 'string') return listen.call(this, port, ...rest);
    const wanted = process.env.KEEP_PORT ? Number(port) : 0;
    this.once('listening', () => console.log(`listening ${this.address().port}`));
    const ready = rest.find(argument => typeof argument === 'function');
    return listen.call(this, wanted, '127.0.0.1', ...(ready ? [ready] : []));
};
