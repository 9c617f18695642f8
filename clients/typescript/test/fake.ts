// A server that misbehaves in the way that its argument names. Otherwise it answers initialize as shelld does.
import { createInterface } from 'node:readline';

const way = process.argv[2]!;
const send = (message: object) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');

const capabilities = { levels: {}, methods: [] };
const limits = { windowBytes: 1 << 20, maxMessageBytes: 1 << 24, shutdownGraceMs: 0 };
const initialized = { protocolVersion: '1', serverInfo: { name: 'fake', version: '0' }, sessionId: 'x', capabilities, limits };

/** What it does instead of answering a request; all else is answered with {}. */
const answers: Record<string, (message: { id: number; method: string }) => void> = {
  silent: () => {},
  exits: () => process.exit(3),
  words: ({ id, method }) => method === 'initialize' ? process.stdout.write('Welcome!\n') : send({ id, result: {} }),
  array: () => process.stdout.write('[]\n'),
  endless: () => { process.stdout.write('x'.repeat(1 << 20), answers['endless'] as () => void); },
  stranger: ({ id }) => send({ id, result: {} }),
  unknown: ({ id }) => send({ id, error: { code: -32601, message: 'Method not found' } }),
  version: ({ id }) => send({ id, error: { code: -32033, message: 'version 1 is too old', data: { kind: 'unsupportedVersion', supported: ['2', '3'] } } }),
  other: ({ id }) => send({ id, result: { ...initialized, protocolVersion: '2' } }),
  newer: ({ id, method }) => {
    send({ method: 'job/evaporated', params: { handle: 1, seq: 1 } });
    send({ id: 'q1', method: 'client/riddle', params: {} });
    if (method === 'initialize') send({ id, result: { ...initialized, moods: ['good'] }, took: 5 });
    else send({ id, result: { jobs: [{ handle: 1, colour: 'blue' }] } });
  },
  dies: ({ id, method }) => {
    if (method === 'initialize') return send({ id, result: initialized });
    process.stderr.write('fatal error: out of ideas\n', () => process.kill(process.pid, 'SIGKILL'));
  },
  garbage: ({ id, method }) => {
    if (method === 'initialize') return send({ id, result: initialized });
    process.stdout.write('printf was here\n');
  },
  null: ({ id, method }) => {
    if (method === 'initialize') return send({ id, result: initialized });
    if (method === 'job/run') send({ id: null, error: { code: -32600, message: 'a line that is too long', data: { kind: 'invalidRequest' } } });
    else send({ id, result: {} });
  },
  late: ({ id, method }) => {
    if (method === 'initialize') return send({ id, result: initialized });
    if (method === 'job/kill') process.exit(42);
    if (method === 'job/start') started = id;
  },
};

let started = 0;
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (way === 'echo') process.stdout.write(line + '\n');
  else if (message.method === '$/cancelRequest' && started) send({ id: started, result: { job: { handle: 7, status: 'running', streams: {} } } });
  else if (message.id !== undefined && message.method) answers[way]!(message);
});
if (way !== 'silent') process.stdin.on('end', () => process.exit());
else setInterval(() => {}, 1000); // it does not even end with its input
