// What a browser remembers, in IndexedDB: a step from what is kept to what is kept next is one
// transaction, so that of two tabs the second finds what the first has kept.

const STORE = "kept";

export class Device {
  /** Rejects where the browser keeps nothing. */
  static open() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open("ldp-planner", 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(Object.assign(new Device(), { database: request.result }));
      request.onerror = request.onblocked = () => reject(request.error);
    });
  }

  /** What is kept after a step from what was kept, or null; stored before it is given. */
  change(key, step) {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(STORE, "readwrite", { durability: "strict" });
      const [store, name] = [transaction.objectStore(STORE), JSON.stringify(key)];
      let [after, refused] = [null, null];
      store.get(name).onsuccess = ({ target }) => {
        const before = target.result ?? null;
        try {
          after = step(before);
          if (after === undefined) store.delete(name);
          else if (after !== before) store.put(after, name);
        } catch (error) {
          refused = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(after);
      transaction.onabort = () => reject(refused ?? transaction.error);
    });
  }
}

/** For a preview: kept while the page is open. */
export class Forgetful extends Map {
  async change(key, step) {
    const after = step(this.get(JSON.stringify(key)) ?? null);
    this.set(JSON.stringify(key), after);
    return after;
  }
}
