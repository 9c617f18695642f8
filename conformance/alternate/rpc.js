// JSON-RPC: what a message must look like, who may ask what at which time, and the
// answers. Requests run concurrently; each begins in the order in which it was read.
import { isUtf8 } from 'node:buffer';
import { ProtocolError, badParam, nearest } from './errors.js';
import { checkParams } from './schema.js';

const maxDepth = 200;
const maxInFlight = 16384;

export class Rpc {
  // methods: name -> (params, request) => result or a promise of it; notifications: name -> (params).
  // lifeCycle(method) throws where a request may not come now. send(text) writes a message.
  constructor({ methods, notifications, lifeCycle, send }) {
    Object.assign(this, { methods, notifications, lifeCycle, send });
    this.inFlight = new Map(); // key of an id -> request
    this.maxMessageBytes = 16 << 20;
  }

  receive(bytes) {
    const text = isUtf8(bytes) ? bytes.toString() : null;
    let message, outline;
    try {
      if (text === null) throw new Error('it is not UTF-8');
      outline = outlineOf(text);
      if (outline.depth > maxDepth) return this.refuse('invalidRequest', `a message nests at most ${maxDepth} levels deep`);
      message = JSON.parse(text);
    } catch (err) {
      return this.refuse('parseError', `the message is no JSON: ${err.message}`);
    }
    if (Array.isArray(message)) return this.refuse('invalidRequest', 'batches are not supported; send the messages one by one');
    if (message === null || typeof message !== 'object') return this.refuse('invalidRequest', 'a message is an object');
    if (isAnswer(message)) return; // nothing is asked here, so it is none of ours
    if (!Object.hasOwn(message, 'id')) return this.#notification(message);
    if (typeof message.id !== 'string' && typeof message.id !== 'number') {
      return this.refuse('invalidRequest', 'an id is a string or a number');
    }
    this.#request(message, { id: message.id, rawId: outline.rawId, key: keyOf(message.id) });
  }

  // refuse answers what cannot be told to belong to a request.
  refuse(kind, text) {
    this.#answer('null', { error: new ProtocolError(kind, text).wire() });
  }

  #notification(message) {
    if (!isEnvelope(message)) return this.refuse('invalidRequest', 'this is no message of JSON-RPC 2.0');
    const handler = Object.hasOwn(this.notifications, message.method) && this.notifications[message.method];
    if (handler) handler(isPlain(message.params) ? message.params : {});
  }

  #request(message, request) {
    try {
      if (!isEnvelope(message)) throw new ProtocolError('invalidRequest', 'this is no message of JSON-RPC 2.0');
      if (this.inFlight.has(request.key)) throw new ProtocolError('invalidRequest', 'a request with this id is in flight');
      if (this.inFlight.size >= maxInFlight) {
        throw new ProtocolError('limitExceeded', 'wait for some answers first', { limit: 'requestsInFlight', max: maxInFlight, retryable: true });
      }
      const result = this.#call(message, request);
      // What is known at once is answered at once, so that it keeps its place.
      if (!(result instanceof Promise)) return this.sendResult(request, result);
      this.inFlight.set(request.key, request);
      this.#await(result, request);
    } catch (err) {
      this.#sendError(request, err);
    }
  }

  async #await(promise, request) {
    try {
      const result = await promise;
      if (!request.sent) this.sendResult(request, result);
    } catch (err) {
      this.#sendError(request, err);
    }
    this.inFlight.delete(request.key);
    request.answered?.();
  }

  #sendError(request, err) {
    if (!(err instanceof ProtocolError)) console.error(err);
    const known = err instanceof ProtocolError ? err : new ProtocolError('internalError', `a fault of the server: ${err.message}`);
    this.#answer(request.rawId, { error: known.wire() });
  }

  // #call runs without a pause up to the handler's first await, so that requests begin in order.
  #call({ method, params }, request) {
    this.lifeCycle(method);
    if (!Object.hasOwn(this.methods, method)) {
      const near = nearest(method, Object.keys(this.methods), 1);
      throw new ProtocolError('methodNotFound', `there is no method ${method}`, { method, ...(near[0] && { didYouMean: near[0] }) });
    }
    const given = params === undefined || params === null || isEmptyList(params) ? {} : params;
    if (!isPlain(given)) throw badParam('', 'params must be an object');
    checkParams(method, given);
    return this.methods[method](given, request);
  }

  // sendResult answers a request now, and what is sent next comes behind it.
  sendResult(request, result) {
    if (request.sent) return;
    this.#answer(request.rawId, { result });
    request.sent = true;
  }

  #answer(rawId, body) {
    const text = `{"jsonrpc":"2.0","id":${rawId},${JSON.stringify(body).slice(1)}`;
    if (Buffer.byteLength(text) <= this.maxMessageBytes) return this.send(text);
    const handle = body.result?.job?.handle;
    const data = { limit: 'maxMessageBytes', max: this.maxMessageBytes, ...(handle && { handle }) };
    const error = new ProtocolError('limitExceeded', 'the request was carried out, but the answer is too long', data);
    this.send(`{"jsonrpc":"2.0","id":${rawId},"error":${JSON.stringify(error.wire())}}`);
  }

  cancel(id) {
    if (typeof id === 'string' || typeof id === 'number') this.inFlight.get(keyOf(id))?.cancel?.();
  }
}

// Numbers that are equal are the same id, however they are spelled.
const keyOf = (id) => `${typeof id}:${id}`;
const isPlain = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const isEmptyList = (v) => Array.isArray(v) && (v.length === 0 || (v.length === 1 && v[0] === null));
const isAnswer = (m) => m.jsonrpc === '2.0' && Object.hasOwn(m, 'id') && m.method === undefined && (Object.hasOwn(m, 'result') || Object.hasOwn(m, 'error'));
const isEnvelope = (m) => m.jsonrpc === '2.0' && typeof m.method === 'string' && m.method !== '' &&
  (m.params === undefined || m.params === null || typeof m.params === 'object');

// outlineOf goes over a JSON text once: how deep it nests, and how the id of the outermost
// object is spelled, which JSON.parse does not tell. What is no JSON gives nonsense here,
// and is found out by JSON.parse.
function outlineOf(text) {
  let depth = 0, deepest = 0, key = '', rawId = 'null', valueAt = -1;
  const endValue = (at) => {
    if (depth === 1 && key === '"id"' && valueAt >= 0) rawId = text.slice(valueAt, at).trim();
    valueAt = -1;
  };
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"': {
        const from = i++;
        while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
        if (depth === 1 && valueAt < 0) key = text.slice(from, i + 1);
        break;
      }
      case ':': if (depth === 1) valueAt = i + 1; break;
      case ',': endValue(i); break;
      case '{': case '[': deepest = Math.max(deepest, ++depth); break;
      case '}': case ']': endValue(i); depth--; break;
    }
  }
  return { depth: deepest, rawId };
}
