import { createRequire } from 'node:module';
import { ConnectError } from './errors.js';

/**
 * Returns the path of the server: the one that is asked for, else `$SHELLD`, else the package of this
 * platform, else the name `shelld`, which is looked up on PATH.
 */
export function findServer(path?: string): string {
  if (!['linux', 'darwin', 'win32'].includes(process.platform)) {
    throw new ConnectError('unsupportedPlatform', `shelld does not run on ${process.platform}: it needs Linux, macOS or Windows`);
  }
  return path ?? (process.env['SHELLD'] || packaged() || 'shelld');
}

/** Packages with the binary name their platform, so that npm installs the right one without a script. */
function packaged(): string | undefined {
  const program = process.platform === 'win32' ? 'shelld.exe' : 'shelld';
  try {
    return createRequire(import.meta.url).resolve(`@shelld/${process.platform}-${process.arch}/bin/${program}`);
  } catch {
    return undefined;
  }
}
