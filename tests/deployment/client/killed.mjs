// A client in JavaScript that is killed on its way, like killed.py; the words are an argument.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const words = JSON.parse(process.argv[2]);
let left = Infinity;
for (const name of ["openSync", "writeSync", "fsyncSync", "linkSync", "unlinkSync", "rmSync"]) {
  const real = fs[name];
  fs[name] = (...given) => {
    if (left-- === 0) process.kill(process.pid, "SIGKILL");
    return real(...given);
  };
}
syncBuiltinESMExports();
const { Client, Memory } = await import(words.client);

let store = () => {};
class Late extends Memory {
  keep(key, content) {
    store = () => super.keep(key, content);
    return content;
  }

  forget(key) {
    const first = store;
    store = () => first() || super.forget(key);
  }
}
const memory = new (words.late ? Late : Memory)(words.memory);
const client = new Client(fs.readFileSync(words.params), memory);
for (const [round, answer, changed] of words.asked) {
  if (round === words.asked.at(-1)[0]) left = words.death.stage ?? Infinity;
  fs.writeSync(1, client.report("q", answer, { user: words.user, round, changed }) + "\n");
  store();
}
