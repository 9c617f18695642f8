// A model on loopback that follows a script: it answers each request with the next call of the
// script, and keeps what it was sent. It speaks the protocols of the hosts that hosts.mjs starts:
// Anthropic messages, OpenAI responses and chat completions, and Gemini's generateContent.
import { createServer } from 'node:http';

// A Model plays one script: a list of {tool, args}, and then an end. tool is the name at the
// server; a host puts a prefix before it.
export class Model {
  constructor(script) {
    this.script = script;
    this.next = 0;
    this.results = []; // Of the calls, in order: {text, images}, as the last request has them.
    this.tools = []; // The tools of the server under test, as the host declares them.
    this.instructions = false; // Whether the server's instructions reached the model.
    this.problems = [];
    this.outside = new Set(); // Hosts on the network that were asked for: see connect.
    this.server = createServer((req, res) => this.serve(req, res));
    // Hosts have this server as their proxy too: it refuses what is not for loopback.
    this.server.on('connect', (req, socket) => {
      this.outside.add(req.url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  async serve(req, res) {
    try {
      if (!req.url.startsWith('/')) { // As a proxy is asked.
        this.outside.add(new URL(req.url).host);
        return json(res, {}, 403);
      }
      let text = '';
      for await (const chunk of req) text += chunk;
      const body = text.startsWith('{') ? JSON.parse(text) : {};
      const { pathname } = new URL(req.url, this.url);
      const protocol = req.method === 'POST' && protocols.find((p) => p.path.test(pathname));
      if (!protocol) return json(res, pathname.endsWith('/models') ? { object: 'list', data: [], models: [] } : {}, pathname.endsWith('/models') ? 200 : 404);
      const answer = protocol.fixed ?? this.answer(protocol, body);
      protocol.reply(res, answer, body, pathname);
    } catch (err) {
      this.problems.push(String(err.stack));
      res.destroy();
    }
  }

  // answer is the next step, and notes what the request says of the steps before.
  answer(protocol, body) {
    const tools = protocol.tools(body);
    const own = tools.filter((t) => serverTools.some((name) => isTool(t.name, name)));
    if (own.length === 0) return { text: 'ok' }; // A title, a summary: not the conversation.
    this.tools = own;
    this.instructions ||= JSON.stringify(body).includes('real terminals of their own');
    this.results = protocol.results(body);
    if (this.results.length !== this.next) this.problems.push(`request after step ${this.next} has ${this.results.length} results`);
    const step = this.script[this.next];
    if (!step) return { text: 'done' };
    this.next++;
    const tool = own.find((t) => isTool(t.name, step.tool));
    if (!tool) throw new Error(`no tool ${step.tool} among ${tools.map((t) => t.name).join(' ')}`);
    return { call: { name: tool.name, namespace: tool.namespace, args: step.args, id: `call_${this.next}` } };
  }
}

const serverTools = ['shell', 'shell_output', 'shell_jobs', 'shell_end'];

// isTool says whether a host's name is that of a tool of the server, behind the host's prefix.
function isTool(name, tool) {
  return new RegExp(`(^|_)shelld[-_.]+${tool}$`).test(name);
}

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

const protocols = [
  { path: /\/count_tokens$/, fixed: {}, reply: (res) => json(res, { input_tokens: 10 }) },
  { path: /:countTokens$/, fixed: {}, reply: (res) => json(res, { totalTokens: 10 }) },
  {
    path: /\/messages$/,
    tools: (b) => (b.tools ?? []).map((t) => ({ name: t.name, json: t })),
    results: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []))
      .filter((p) => p.type === 'tool_result')
      .map((p) => content(p.content, (c) => c.source?.data)),
    reply(res, { call, text }, b) {
      const block = call ? { type: 'tool_use', id: call.id, name: call.name, input: call.args } : { type: 'text', text };
      const message = { id: 'msg', type: 'message', role: 'assistant', model: b.model, stop_sequence: null, usage };
      const stop_reason = call ? 'tool_use' : 'end_turn';
      if (!b.stream) return json(res, { ...message, content: [block], stop_reason });
      events(res, [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: call ? { ...block, input: {} } : { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.args) } : { type: 'text_delta', text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
        { type: 'message_stop' },
      ]);
    },
  },
  {
    path: /\/responses$/,
    tools: (b) => (b.tools ?? []).flatMap((t) => (t.type === 'namespace' ? t.tools.map((x) => ({ name: `${t.name}.${x.name}`, namespace: t.name, json: x })) : [{ name: t.name ?? t.type, json: t }])),
    results: (b) => b.input.filter((i) => i.type === 'function_call_output').map((i) => content(i.output, (c) => c.image_url?.replace(/^data:.*?,/, ''))),
    reply(res, { call, text }) {
      const item = call
        ? { type: 'function_call', id: `fc_${call.id}`, call_id: call.id, name: call.namespace ? call.name.slice(call.namespace.length + 1) : call.name, namespace: call.namespace, arguments: JSON.stringify(call.args), status: 'completed' }
        : { type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] };
      events(res, [
        { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item], usage } },
      ]);
    },
  },
  {
    path: /\/chat\/completions$/,
    tools: (b) => (b.tools ?? []).map((t) => t[t.type]).map((t) => ({ name: t.name, json: t })),
    // Pictures stand in a message of the user's behind the result.
    results(b) {
      const found = [];
      for (const m of b.messages) {
        const c = content(m.content ?? '', (p) => p.image_url?.url.replace(/^data:.*?,/, ''));
        if (m.role === 'tool') found.push(c);
        else if (c.images.length && found.length) found.at(-1).images.push(...c.images);
      }
      return found;
    },
    reply(res, { call, text }, b) {
      const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: b.model };
      const message = call
        ? { role: 'assistant', content: null, tool_calls: [{ index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }] }
        : { role: 'assistant', content: text };
      const finish_reason = call ? 'tool_calls' : 'stop';
      if (!b.stream) return json(res, { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
      events(res, [
        { ...base, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...base, choices: [{ index: 0, delta: {}, finish_reason }], usage },
        '[DONE]',
      ]);
    },
  },
  {
    path: /:(stream)?[gG]enerateContent$/,
    tools: (b) => (b.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((t) => ({ name: t.name, json: t })),
    results(b) {
      const found = [];
      for (const p of b.contents.flatMap((c) => c.parts ?? [])) {
        const pictures = [p, ...(p.functionResponse?.parts ?? [])].map((x) => x.inlineData?.data).filter(Boolean);
        if (p.functionResponse) found.push({ text: p.functionResponse.response.output ?? JSON.stringify(p.functionResponse.response), images: [] });
        found.at(-1)?.images.push(...pictures);
      }
      return found;
    },
    reply(res, { call, text }, b, path) {
      const part = call ? { functionCall: { name: call.name, args: call.args, id: call.id } } : { text };
      const answer = {
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      };
      return path.includes(':stream') ? events(res, [answer]) : json(res, answer);
    },
  },
];

// content reads the result of a call, which is a text or a list of parts.
function content(c, image) {
  if (typeof c === 'string') return { text: c, images: [] };
  const parts = c ?? [];
  return { text: parts.map((p) => p.text ?? '').join(''), images: parts.map(image).filter(Boolean) };
}

function json(res, value, status = 200) {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(value));
}

function events(res, all) {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const e of all) res.write(`${e.type ? `event: ${e.type}\n` : ''}data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`);
  res.end();
}
