// An extension that uses the client as any extension would. It shows what came of it in a message.
const assert = require('node:assert/strict');
const vscode = require('vscode');

exports.activate = async () => {
  const { connect, pseudoterminal } = await import(process.env.SHELLD_CLIENT);
  const shelld = await connect({
    secret: ({ prompt }) => vscode.window.showInputBox({ prompt, password: true }),
    options: { persist: { mode: 'memory' } },
  });
  assert.equal((await shelld.run('echo hi; exit 3')).exitCode, 3);

  const asks = await shelld.start('read -s -p "Password: " p; echo; echo "${#p} letters"');
  assert.match((await asks.wait({ exit: true })).stdout, /7 letters/);

  let text = '';
  for await (const bytes of (await shelld.start('seq 3', { mode: 'pipe' })).readable()) text += Buffer.from(bytes);
  assert.equal(text, '1\n2\n3\n');

  const job = await shelld.start('read -p "Name? " n; stty size; echo "Hello, $n"; exit 4', { queries: 'client' });
  const closed = new Promise((resolve) => vscode.window.onDidCloseTerminal(resolve));
  const terminal = vscode.window.createTerminal({ name: 'shelld', pty: pseudoterminal(job) });
  await closed;
  assert.equal(terminal.exitStatus.code, 4);

  await shelld.close();
  void vscode.window.showInformationMessage(`passed in VS Code ${vscode.version} on Node ${process.version}`);
};
