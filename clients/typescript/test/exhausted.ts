// Connects without a descriptor left, and prints the error. See errors.test.ts.
import { openSync } from 'node:fs';
import { connect, type ShelldError } from 'shelld';

const failed = (error: ShelldError) => console.log(error.kind, error.message);
await connect().catch(failed); // a missing program: what is loaded late is loaded now
try {
  for (;;) openSync('/dev/null', 'r');
} catch { /* all are taken */ }
await connect({ path: process.execPath }).catch(failed);
