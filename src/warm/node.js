// What a warm Node is: started, and waiting for its order on descriptor 3 (see cell/late.h). It then runs one script as
// `node SCRIPT` would have run it. Node has threads, so there is no image of it: each one is used once.
'use strict';
(() => {
  const require = globalThis.require;
  const fs = require('fs');
  const read = (size) => {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; ) {
      const count = fs.readSync(3, bytes, at, size - at, null);
      if (count === 0) process.exit(1);
      at += count;
    }
    return bytes;
  };
  const Module = require('module');
  // What every script uses first, so that it is there: streams, the loader, the compiler.
  process.stdout.write('');
  process.stderr.write('');
  console.log.name;
  const rehearsal = new Module('/workspace/rehearsal.js');
  rehearsal.paths = [];
  rehearsal._compile("require('util').format('%s %o', 'a', {b: [1, 2]}); [3].map((x) => `${x}`);", rehearsal.id);
  // -e has the modules of Node as globals, and another `crypto`; a script has neither.
  for (const name of Module.builtinModules) {
    const global = Object.getOwnPropertyDescriptor(globalThis, name);
    if (name !== 'process' && global && global.get && !global.enumerable) delete globalThis[name];
  }
  const own = {get crypto() { return require('crypto').webcrypto; }};
  Object.defineProperty(globalThis, 'crypto', Object.getOwnPropertyDescriptor(own, 'crypto'));
  fs.writeSync(3, 'R');
  const order = read(read(4).readUInt32LE(0));
  fs.closeSync(3);
  let at = 0;
  const number = () => order.readUInt32LE((at += 4) - 4);
  const words = () =>
    Array.from({length: number()}, () => {
      const size = number();
      return order.toString('utf8', at, (at += size));
    });
  const command = words();
  const environment = words();
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const pair of environment) {
    const end = pair.indexOf('=');
    process.env[pair.slice(0, end)] = pair.slice(end + 1);
  }
  process.argv.splice(1, process.argv.length, ...command);
  // A script knows nothing of -e.
  process.execArgv.length = 0;
  for (const name of ['module', 'exports', 'require', '__filename', '__dirname']) delete globalThis[name];
  Module.runMain();
})();
