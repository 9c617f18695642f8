// How each host is started without a terminal: its settings, its arguments, its environment. A host has a
// home directory of its own, a made-up key, and the scripted model in place of its provider.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const prompt = 'Do what the script says.';
const platform = `${process.platform}-${process.arch}`;

// Each gets {home, project, model, server, modules} and returns {command, args, env, talk}. talk
// drives a host that has to be spoken to.
export const hosts = {
  claude({ home, model, server, modules }) {
    const config = write(home, 'mcp.json', { mcpServers: { shelld: { ...server, alwaysLoad: true } } });
    return {
      command: join(modules, '@anthropic-ai', `claude-code-${platform}`, 'claude'),
      args: ['-p', prompt, '--mcp-config', config, '--strict-mcp-config', '--allowedTools', 'mcp__shelld', '--model', 'claude-sonnet-4-5'],
      env: {
        ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1',
      },
    };
  },

  codex(o) {
    const h = codex(o);
    return { ...h, args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt] };
  },

  'codex-app-server': (o) => ({ ...codex(o), args: ['app-server'], talk: (child) => appServer(child, o.project) }),

  gemini({ home, model, server, modules }) {
    write(home, '.gemini/settings.json', {
      mcpServers: { shelld: { ...server, timeout: 600000, trust: true } },
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
    });
    return {
      command: process.execPath,
      args: [join(modules, '@google/gemini-cli/bundle/gemini.js'), '-p', prompt, '--skip-trust', '--model', 'gemini-2.5-pro'],
      env: { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_TELEMETRY_ENABLED: 'false' },
    };
  },

  copilot({ home, model, server, modules }) {
    write(home, '.copilot/mcp-config.json', { mcpServers: { shelld: { type: 'local', ...server, tools: ['*'] } } });
    return {
      command: join(modules, '@github', `copilot-${platform}`, 'copilot'),
      args: ['-p', prompt, '--allow-all-tools', '--no-auto-update', '--disable-client-telemetry', '--allow-all-mcp-server-instructions'],
      env: {
        COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false', COPILOT_PROVIDER_BASE_URL: `${model.url}/v1`, COPILOT_PROVIDER_API_KEY: 'none',
        COPILOT_PROVIDER_TYPE: 'openai', COPILOT_PROVIDER_WIRE_API: 'completions', COPILOT_MODEL: 'gpt-5.4',
      },
    };
  },
};

function codex({ home, model, server, modules }) {
  write(home, '.codex/config.toml', `
model = "gpt-5.4"
model_provider = "script"
check_for_update_on_startup = false
tool_output_token_limit = 20000
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "${model.url}/v1"
wire_api = "responses"
requires_openai_auth = false
[mcp_servers.shelld]
command = ${JSON.stringify(server.command)}
args = ${JSON.stringify(server.args)}
default_tools_approval_mode = "approve"
`);
  const vendor = { 'linux-x64': 'x86_64-unknown-linux-musl', 'linux-arm64': 'aarch64-unknown-linux-musl' }[platform];
  return { command: join(modules, '@openai', `codex-${platform}`, 'vendor', vendor, 'bin/codex'), env: { CODEX_HOME: join(home, '.codex') } };
}

// appServer has one turn with Codex's server for editors: JSON-RPC, a message a line.
async function appServer(child, cwd) {
  let last = 0;
  const waiting = new Map();
  let completed;
  const turn = new Promise((resolve) => { completed = resolve; });
  let rest = '';
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const m of lines.map((l) => JSON.parse(l))) {
      if (m.method === 'turn/completed') completed();
      else if (m.method && m.id !== undefined) send({ id: m.id, error: { code: -32601, message: `${m.method} is not answered here` } });
      else if (waiting.has(m.id)) waiting.get(m.id)(m);
    }
  });
  const send = (m) => child.stdin.write(`${JSON.stringify(m)}\n`);
  const request = async (method, params) => {
    const id = ++last;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    const { error, result } = await answered;
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  await request('initialize', { clientInfo: { name: 'script', title: null, version: '1' }, capabilities: null });
  send({ method: 'initialized' });
  const { thread } = await request('thread/start', { cwd, ephemeral: true, approvalPolicy: 'never', sandbox: 'danger-full-access' });
  await request('turn/start', { threadId: thread.id, input: [{ type: 'text', text: prompt, text_elements: [] }] });
  await turn;
  child.stdin.end();
}

function write(home, name, value) {
  const path = join(home, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
}
