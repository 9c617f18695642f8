// Turns messages of the protocol into a TypeScript source that compiles only if the types fit them.

interface Message {
  jsonrpc?: string;
  id?: number | string | null;
  method?: string;
  params?: object;
  result?: object;
  error?: { code: number; data?: unknown };
}

export class Checker {
  #checks = new Map<string, string>(); // the shape of a value and its type -> the check
  count = 0;

  /** Adds the messages of one connection, by who has sent them. */
  add(client: readonly Message[], server: readonly Message[]): void {
    this.#results(client, server);
    for (const { id, method, params, error } of server) {
      if (error?.data) this.#check('ErrorObject', error);
      if (method !== undefined) this.#check(id === undefined ? `Events['${method}']` : `ServerRequests['${method}']['params']`, params ?? {});
    }
  }

  /** Adds the requests of a client that the server has taken, and their results. */
  #results(client: readonly Message[], server: readonly Message[]): void {
    const asked = new Map<string, Message[]>();
    for (const message of client) {
      const id = JSON.stringify(message.id);
      if (message.method !== undefined) asked.set(id, [...asked.get(id) ?? [], message]);
    }
    for (const { id, method, result } of server) {
      // Sessions use ids anew: then nothing tells which request the result is of.
      const [request, another] = asked.get(JSON.stringify(id)) ?? [];
      if (!request || another || !result || method !== undefined) continue;
      this.#check(`Requests['${request.method}']['result']`, result);
      // initialize takes unknown members, with a warning, and an absent value may be spelled [].
      if ('warnings' in result || Array.isArray(request.params)) continue;
      this.#check(`Requests['${request.method}']['params']`, request.params ?? {});
    }
  }

  #check(type: string, value: object): void {
    this.count++;
    // One of each shape is enough: numbers, and texts that are no names, do not matter to a type.
    const text = JSON.stringify(value, (_, part) => {
      if (typeof part === 'number' && part >= 0) return 1;
      return typeof part === 'string' && !/^[A-Za-z0-9.]{1,40}$/.test(part) ? ' ' : part;
    });
    if (type === 'ErrorObject') return void this.#checks.set(JSON.stringify(value), `t = ${JSON.stringify(value)} satisfies ErrorObject;`);
    this.#checks.set(type + text, `t = ${text} satisfies ${type};`);
  }

  get shapes(): number {
    return this.#checks.size;
  }

  source(): string {
    return "import type { ErrorObject, Events, Requests, ServerRequests } from 'shelld';\n" +
      'export let t: unknown;\n' + [...this.#checks.values()].join('\n') + '\n';
  }
}
