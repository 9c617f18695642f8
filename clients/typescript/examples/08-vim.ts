// Types into vim, reads its screen and takes a picture of it.
import { connect } from 'shelld';
await using shelld = await connect();
await using vim = await shelld.start('vim -u NONE -i NONE -n', { cols: 60, rows: 12 });
await vim.question();
await vim.write('ihello');
console.log((await vim.wait({ pattern: /^hello/m, on: 'screen' }, { screen: true })).screen!.lines[0]);
console.log(Buffer.from(await vim.screenshot()).toString('latin1', 1, 4));
