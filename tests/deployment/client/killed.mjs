// A client in JavaScript that is killed before any step on its way, like killed.py.
// A kill leaves files as they are: copied before every step, they are what the next client finds.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const words = JSON.parse(process.argv[2]);
let folder = words.folder;
let watched = false;
const copies = [];
for (const name of ["openSync", "writeSync", "fsyncSync", "linkSync", "unlinkSync", "rmSync", "mkdirSync"]) {
  const real = fs[name];
  fs[name] = (...given) => {
    if (watched) copy();
    return real(...given);
  };
}
syncBuiltinESMExports();
const { Client, Memory } = await import(words.client);

function copy() {
  watched = false;
  copies.push(`${folder} ${copies.length}`);
  fs.cpSync(folder, copies.at(-1), { recursive: true });
  watched = true;
}

let store = () => {};
class Late extends Memory {
  async change(key, step) {
    let made;
    const look = (kept) => {
      made = step(kept);
      throw new Error("not yet");
    };
    await super.change(key, look).catch(() => {});
    store = () => super.change(key, () => made);
    return made;
  }
}

async function ask(asked, killed) {
  const memory = new (words.late ? Late : Memory)(join(folder, "memory"));
  const client = await Client.open(fs.readFileSync(words.params), memory);
  const sent = fs.openSync(join(folder, "sent"), "a");
  for (const [round, answer, changed] of asked) {
    watched = killed && round === asked.at(-1)[0];
    fs.writeSync(sent, `${await client.report("q", answer, { user: words.user, round, changed })}\n`);
    await store();
  }
  watched = false;
  fs.closeSync(sent);
}

fs.mkdirSync(folder);
await ask(words.asked, true);
for (folder of [...copies, words.folder]) {
  await ask(words.again, false);
  console.log(JSON.stringify(fs.readFileSync(join(folder, "sent"), "utf8").trim().split("\n")));
}
