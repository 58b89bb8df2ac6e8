// What compression saves of the bill of whole sessions, the provider's prompt cache included.
// Usage: node test/bench/session-bill.mjs FILE.jsonl ... [--level safe --level balanced] [--fixed 0] [--json FILE]
// A line of FILE is {"messages": [...]}, a conversation of chat completions. It is played as an agent does: a request before
// each answer of the assistant, each with all that came before, and --fixed tokens of instructions and tools in front, which
// gw leaves alone. Costs are in units of one million input tokens at list price.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { getEncoding } from 'js-tiktoken';

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    level: { type: 'string', multiple: true, default: ['safe', 'balanced'] },
    fixed: { type: 'string', default: '0' },
    json: { type: 'string' },
  },
});
const fixed = Number(options.fixed);
const gw = new URL('../../bin/gw', import.meta.url).pathname;

/**
 * Shares of the input price. Anthropic: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (a mark on the
 * last message, as agents set it: what is new is written). OpenAI: https://developers.openai.com/api/docs/guides/prompt-caching
 * (from 1,024 tokens on, in steps of 128), output and cached input as of GPT-5.
 */
const PRICES = {
  'no cache': { read: 1, write: 1, output: 5, cached: () => 0 },
  'Anthropic, cached': {
    read: 0.1,
    write: 1.25,
    output: 5,
    cached: (tokens) => (tokens < 1_024 ? 0 : tokens),
  },
  'OpenAI, cached': {
    read: 0.1,
    write: 1,
    output: 8,
    cached: (tokens) => (tokens < 1_024 ? 0 : tokens - (tokens % 128)),
  },
};

const encoding = getEncoding('o200k_base');
const counted = new Map();
function tokensOf(text) {
  if (!counted.has(text)) counted.set(text, encoding.encode(text, [], []).length);
  return counted.get(text);
}
const messageTokens = (message) => tokensOf(JSON.stringify(message));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** What `gw optimize --jsonl` makes of requests, one after another in one process. */
async function optimized(requests, level) {
  if (level === 'off') return requests;
  const child = spawn(process.execPath, [gw, 'optimize', '--jsonl', '--level', level], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => answers.push(JSON.parse(line).messages));
  for (const [id, messages] of requests.entries())
    if (!child.stdin.write(`${JSON.stringify({ id: String(id), messages })}\n`))
      await new Promise((resolve) => child.stdin.once('drain', resolve));
  child.stdin.end();
  await new Promise((resolve) => lines.once('close', resolve));
  if (answers.length !== requests.length) throw new Error(`${answers.length} answers of ${requests.length}`);
  return answers;
}

/** The requests of a session, and the tokens of the answer to each. */
function turnsOf(messages) {
  const answers = messages.flatMap(({ role }, at) => (role === 'assistant' && at > 0 ? [at] : []));
  return answers.map((at) => ({ request: messages.slice(0, at), output: messageTokens(messages[at]) }));
}

/** The tokens of a request that the one before it had as well, from the start on, message by message. */
function sharedTokens(request, before) {
  const at = request.findIndex((message, i) => JSON.stringify(message) !== JSON.stringify(before[i]));
  return sum((at < 0 ? request : request.slice(0, at)).map(messageTokens));
}

/** The bill of a session under each price, and the tokens that a cache could have had and didn't, as a prefix was changed. */
function billOf(requests, turns) {
  const bill = Object.fromEntries(Object.keys(PRICES).map((name) => [name, 0]));
  let lost = 0;
  for (const [i, request] of requests.entries()) {
    const before = requests[i - 1] ?? [];
    const same = sharedTokens(request, before);
    lost += sum(before.map(messageTokens)) - same;
    const shared = i > 0 ? fixed + same : 0;
    const all = fixed + sum(request.map(messageTokens));
    for (const [name, { read, write, output, cached }] of Object.entries(PRICES)) {
      const hit = cached(shared);
      bill[name] += (hit * read + (all - hit) * write + turns[i].output * output) / 1e6;
    }
  }
  return { bill, lost };
}

const rows = [];
for (const file of files) {
  const sessions = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => turnsOf(JSON.parse(line).messages))
    .filter((turns) => turns.length > 1);
  const flat = sessions.flatMap((turns) => turns.map(({ request }) => request));
  const bills = {};
  for (const level of ['off', ...options.level]) {
    const sent = await optimized(flat, level);
    const rest = [...sent];
    const each = sessions.map((turns) => billOf(rest.splice(0, turns.length), turns));
    const total = (name) => sum(each.map(({ bill }) => bill[name]));
    bills[level] = Object.fromEntries(Object.keys(PRICES).map((name) => [name, total(name)]));
    bills[level].lost = sum(each.map(({ lost }) => lost));
  }
  for (const level of options.level)
    rows.push({
      file: basename(file, '.jsonl'),
      level,
      sessions: sessions.length,
      requests: flat.length,
      ...Object.fromEntries(
        Object.keys(PRICES).map((name) => [name, 1 - bills[level][name] / bills.off[name]]),
      ),
      lost: bills[level].lost - bills.off.lost,
    });
}
const percent = (share) => `${(100 * share).toFixed(1)} %`;
console.log(`| sessions | requests | level | ${Object.keys(PRICES).join(' | ')} | cache reads lost |`);
console.log(`|---|--:|---|${'--:|'.repeat(Object.keys(PRICES).length + 1)}`);
for (const row of rows)
  console.log(
    `| ${row.file} (${row.sessions}) | ${row.requests} | ${row.level} | ${Object.keys(PRICES)
      .map((name) => percent(row[name]))
      .join(' | ')} | ${row.lost} |`,
  );
if (options.json) writeFileSync(options.json, `${JSON.stringify(rows, undefined, 2)}\n`);
