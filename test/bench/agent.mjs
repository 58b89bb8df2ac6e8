// Plays conversations as Claude Code sends them, one turn after another: tools of 40 kB, marks for the cache, and
// results of tools that let the body grow to 450 kB. Prints the medians of each turn as JSON.
// Usage: node agent.mjs '{"port","key","pid","model","conversations","turns","bytes"}'
import { Agent, request } from 'node:http';
import { cpuOf } from './process.mjs';

const { port, key, pid, model, conversations, turns, bytes } = JSON.parse(process.argv[2]);
/** An agent runs its tools between two turns; gw writes its records meanwhile. */
const PAUSE_MS = 25;
const TOOLS = 20;
const TOOL_BYTES = 2_000;
const SYSTEM_BYTES = 12_000;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

let seed = 1;
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed / 2 ** 31;
};
const WORDS =
  'const return await the file of path error test "value" { } = import line 42 => string a to'.split(' ');
function text(length) {
  let made = '';
  while (made.length < length)
    made += `${WORDS[Math.floor(random() * WORDS.length)]}${random() < 0.1 ? '\n\t' : ' '}`;
  return made;
}

const tool = (_, i) => ({
  name: `tool_${i}`,
  description: text(TOOL_BYTES - 300),
  input_schema: {
    type: 'object',
    properties: { path: { type: 'string', description: text(80) }, count: { type: 'number' } },
    required: ['path'],
    additionalProperties: false,
  },
});
const tools = Array.from({ length: TOOLS }, tool);
const cache_control = { type: 'ephemeral' };
const system = [
  { type: 'text', text: "You are Claude Code, Anthropic's official CLI for Claude.", cache_control },
  { type: 'text', text: text(SYSTEM_BYTES), cache_control },
];

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The body of a turn, whose last message carries the mark of the cache. */
function bodyOf(messages, session) {
  const last = messages.at(-1);
  const marked = { ...last, content: last.content.map((part) => ({ ...part, cache_control })) };
  return JSON.stringify({
    model,
    max_tokens: 32_000,
    stream: true,
    metadata: { user_id: `user_bench_session_${session}` },
    system,
    tools,
    messages: [...messages.slice(0, -1), marked],
  });
}

function send(body) {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
    };
    const sentAt = performance.now();
    const sent = request({ port, path: '/v1/messages', method: 'POST', headers, agent }, (answer) => {
      let firstMs;
      let start = '';
      answer.on('data', (chunk) => {
        firstMs ??= performance.now() - sentAt;
        if (start.length < 500) start += chunk;
      });
      answer.on('end', () => (answer.statusCode === 200 ? resolve(firstMs) : reject(new Error(start))));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const firstMs = Array.from({ length: turns }, () => []);
const cpuMicros = Array.from({ length: turns }, () => []);
// V8 compiles what the first conversation needs.
for (let conversation = -1; conversation < conversations; conversation++) {
  const perTurn = (bytes - TOOLS * TOOL_BYTES - SYSTEM_BYTES) / turns;
  const messages = [{ role: 'user', content: [{ type: 'text', text: text(perTurn * 0.9) }] }];
  for (let turn = 0; turn < turns; turn++) {
    const body = bodyOf(messages, `${process.pid}_${conversation}`);
    const before = cpuOf(pid);
    const first = await send(body);
    await pause(PAUSE_MS);
    if (conversation >= 0) {
      firstMs[turn].push(first);
      cpuMicros[turn].push(cpuOf(pid) - before);
    }
    const id = `toolu_${conversation}_${turn}`;
    const use = { type: 'tool_use', id, name: `tool_${turn % TOOLS}`, input: { path: `src/${turn}.ts` } };
    const result = { type: 'tool_result', tool_use_id: id, content: text(perTurn * 0.85) };
    messages.push({ role: 'assistant', content: [{ type: 'text', text: text(150) }, use] });
    messages.push({ role: 'user', content: [result] });
  }
}
agent.destroy();
console.log(JSON.stringify({ firstMs: firstMs.map(median), cpuMicros: cpuMicros.map(median) }));
