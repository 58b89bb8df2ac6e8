import { test } from 'vitest';
import { createCachedPrompts } from '../../../src/gateway/context/cached-prompts.ts';
import { findCacheMiss } from '../../../src/gateway/metering/cache-miss.ts';
import { createCatalog } from '../../../src/pricing/catalog.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE, type TokenUsage } from '../../../src/usage.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { expectFrozen, type Row, variationsOf } from '../../support/frozen.ts';

type Answered = Parameters<typeof findCacheMiss>[1];

const catalog = createCatalog({ now: () => Date.UTC(2026, 10, 20) });
const MINUTE = 60_000;

/** A request of a session, and what its provider reports. */
interface Turn {
  body: object;
  provider?: string;
  model?: string;
  usage?: Partial<TokenUsage>;
  /** Since the turn before. */
  afterMs?: number;
  flags?: number;
  session?: string;
  /** Before the answer begins. */
  waitMs?: number;
  isUnsplit?: boolean;
}

/** The misses of a session's turns, and what is kept of the last. */
function played(turns: readonly Turn[]) {
  const cachedPrompts = createCachedPrompts();
  const warnings: string[] = [];
  let now = 0;
  const clock = { now: () => 1_000_000 + now, monotonic: () => now, after: () => () => {} };
  const gateway = { cachedPrompts, clock, warn: (message: string) => void warnings.push(message) };
  const misses = turns.map(
    ({ body, provider = 'openai', model = 'gpt-4.1', session = 's', waitMs = 10, isUnsplit, ...turn }) => {
      now += turn.afterMs ?? 1_000;
      const wire = model.startsWith('claude') ? messagesWire : chatWire;
      const request = wire.parse(Buffer.from(JSON.stringify({ model, ...body })));
      const blocks = wire.blocksOf?.(request);
      if (blocks && !isUnsplit) request.split = { bytes: request.bytes, blocks };
      const card = catalog.find(provider, model);
      const answered = {
        context: { request, project: { id: 1 }, session: { sessionId: session }, caller: { keyId: 7 } },
        target: {
          provider: { name: provider, wire: provider === 'anthropic' ? 'anthropic' : 'openai' },
          model,
        },
        admitted: { quote: { card, listed: card, priceFactor: 1 } },
        relay: { usage: {}, firstByteAt: waitMs < 0 ? undefined : now + waitMs },
        sentAt: now,
      } as unknown as Answered;
      const usage = { ...NO_USAGE, ...turn.usage };
      return (
        findCacheMiss(gateway, answered, { usage, flags: turn.flags ?? 0, costNanoUsd: 0 as never }) ?? null
      );
    },
  );
  const kept = ['1 s s', '1 s t', '1 7'].flatMap((name) =>
    cachedPrompts
      .of(name)
      .map(({ target, cachedTokens, hasRead, ttlMs, blocks, answeredAt, sentAt }) =>
        [name, target, cachedTokens, hasRead, ttlMs / MINUTE, blocks.length, answeredAt - sentAt].join(' '),
      ),
  );
  return { miss: misses.at(-1), earlier: misses.slice(1, -1), kept, warnings };
}

const words = (word: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${word}${i}`).join(' ');
const MARK = { cache_control: { type: 'ephemeral' } };
const CHAT = {
  temperature: 1,
  tools: ['read', 'write'].map((name) => ({
    type: 'function',
    function: { name, description: words(name, 90), parameters: { type: 'object' } },
  })),
  messages: [
    { role: 'system', content: words('rule', 200) },
    { role: 'user', content: words('question', 150) },
    { role: 'assistant', content: words('answer', 100) },
    {
      role: 'user',
      content: [
        { type: 'text', text: words('more', 120) },
        { type: 'text', text: 'end' },
      ],
    },
  ],
};
const CLAUDE = {
  max_tokens: 9,
  thinking: { type: 'disabled' },
  tools: [{ name: 'read', description: words('read', 90), input_schema: { type: 'object' } }],
  system: [
    { type: 'text', text: words('rule', 200) },
    { type: 'text', text: words('law', 50), ...MARK },
  ],
  messages: [
    { role: 'user', content: words('question', 150) },
    { role: 'assistant', content: [{ type: 'text', text: words('answer', 100) }] },
    { role: 'user', content: [{ type: 'text', text: words('more', 120), ...MARK }] },
  ],
};
const NEXT = [
  { role: 'assistant', content: 'Yes.' },
  { role: 'user', content: 'And then?' },
];
const continued = <B extends { messages?: unknown }>(body: B): B =>
  Array.isArray(body.messages) ? { ...body, messages: [...body.messages, ...NEXT] } : body;

const FIRST = { inputTokens: 10_000, outputTokens: 5 };
const SECOND = { inputTokens: 10_100, cachedInputTokens: 0 };
const written = { cacheWriteTokens: 9_900 };
const claude = { model: 'claude-sonnet-4-5', provider: 'anthropic' };

/** The beginning of a text changed, its end, and another number. */
const others = (value: unknown) =>
  typeof value === 'string'
    ? [`${value.slice(0, value.length / 2)}z`]
    : typeof value === 'number'
      ? [value + 1]
      : [];

test('what a session has missed after each change of its prompt', async () => {
  const after =
    (first: Turn, second: Turn): Row['outcome'] =>
    () =>
      played([first, second]).miss;
  const changed = (
    name: string,
    body: { messages: object[] },
    first: Partial<Turn>,
    second: Partial<Turn>,
  ): Row => ({
    name,
    outcome: after({ body, ...first }, { body: continued(body), ...second }),
    variations: Array.from(variationsOf(body, others), (other) => ({
      name: shortened(other.name),
      outcome: after({ body, ...first }, { body: continued(other.value as typeof body), ...second }),
    })),
  });
  await expectFrozen(import.meta.dirname, 'changed-prompts', [
    changed('chat, nothing read', CHAT, { usage: FIRST }, { usage: SECOND }),
    changed('chat, a part read', CHAT, { usage: FIRST }, { usage: { ...SECOND, cachedInputTokens: 4_096 } }),
    changed(
      'Claude, written again',
      CLAUDE,
      { ...claude, usage: { ...FIRST, ...written } },
      { ...claude, usage: { ...SECOND, ...written } },
    ),
    changed(
      'Claude, a part read, and too late',
      CLAUDE,
      { ...claude, usage: { ...FIRST, ...written } },
      {
        ...claude,
        usage: { ...SECOND, cachedInputTokens: 2_000, cacheWrite1hTokens: 5_000 },
        afterMs: 6 * MINUTE,
      },
    ),
    ...[29, 30, 31].map(
      (levels): Row => ({
        name: `chat, a word changed below ${levels} levels of a tool's parameters`,
        outcome: after(
          { body: deep(levels, 'before'), usage: FIRST },
          { body: continued(deep(levels, 'behind')), usage: SECOND },
        ),
      }),
    ),
  ]);
});

/** A prompt whose first tool has parameters of so many levels. */
function deep(levels: number, word: string) {
  let parameters: object | string = word;
  for (let level = 0; level < levels; level++) parameters = { p: parameters };
  return { ...CHAT, tools: [{ type: 'function', function: { name: 'deep', parameters } }, ...CHAT.tools] };
}

const shortened = (name: string) => name.replace(/"(.{12}).{12,}(.{8})"/, '"$1…$2"');

test('what a session has missed by time, model and what providers report', async () => {
  const first: Turn = { body: CHAT, usage: FIRST };
  const next: Turn = { body: continued(CHAT), usage: SECOND };
  const marked: Turn = { ...claude, body: CLAUDE, usage: { ...FIRST, ...written } };
  const markedNext: Turn = { ...marked, body: continued(CLAUDE), usage: { ...SECOND, ...written } };
  const unmarked = JSON.parse(
    JSON.stringify(continued(CLAUDE)).replaceAll(/,"cache_control":\{[^}]*\}/g, ''),
  );
  const read = (turn: Turn, cachedInputTokens: number): Turn => ({
    ...turn,
    usage: { ...turn.usage, cachedInputTokens },
  });
  const sessions: Record<string, readonly Turn[]> = {
    'a first turn': [first],
    'everything read': [first, read(next, 9_900)],
    'as much as nothing lost: a step of the cache': [first, read(next, 9_984 - 128)],
    'a token more than a step': [first, read(next, 9_984 - 129)],
    'a small prompt': [
      { body: CHAT, usage: { inputTokens: 1_023 } },
      { ...next, usage: { inputTokens: 1_050 } },
    ],
    'a prompt of the least tokens': [
      { body: CHAT, usage: { inputTokens: 1_024 } },
      { ...next, usage: { inputTokens: 1_050 } },
    ],
    'five minutes later': [first, { ...next, afterMs: 5 * MINUTE }],
    'more than five minutes later': [first, { ...next, afterMs: 5 * MINUTE + 1 }],
    'more than five minutes later, a part read': [first, { ...read(next, 4_000), afterMs: 5 * MINUTE + 1 }],
    'kept for a day': [
      { body: { ...CHAT, prompt_cache_retention: '24h' }, usage: FIRST },
      { ...next, afterMs: 20 * 60 * MINUTE },
    ],
    'retention of another kind': [{ body: { ...CHAT, prompt_cache_retention: 'in_memory' }, usage: FIRST }],
    'before the answer began': [
      { ...first, waitMs: 5_000 },
      { ...next, afterMs: 4_999 },
    ],
    'as the answer began': [
      { ...first, waitMs: 5_000 },
      { ...next, afterMs: 5_000 },
    ],
    'an answer without a first byte': [{ ...first, waitMs: -1 }],
    'another session': [first, { ...next, session: 't' }],
    'sessions of a key': [
      { ...first, session: '' },
      { ...next, session: '' },
    ],
    'no usage': [first, { ...next, usage: {} }],
    'an estimate': [first, { ...next, flags: FLAGS.estimated }],
    'nothing metered': [first, { ...next, flags: FLAGS.unmetered }],
    'another flag': [first, { ...next, flags: FLAGS.other_model }],
    'a prompt that was not split': [first, { ...next, isUnsplit: true }],
    'a response that goes on from another': [
      first,
      { ...next, body: { ...continued(CHAT), previous_response_id: 'r' } },
    ],
    'another model': [first, { ...next, model: 'gpt-4.1-mini' }],
    'another model, with more tokens for the text': [
      first,
      { ...next, model: 'gpt-4.1-mini', usage: { inputTokens: 12_100 } },
    ],
    'another model, with hardly more tokens': [
      first,
      { ...next, model: 'gpt-4.1-mini', usage: { inputTokens: 10_250 } },
    ],
    'another model, of half of the prompt': [
      first,
      { ...next, model: 'gpt-4.1-mini', body: { messages: [...CHAT.messages.slice(0, 2), ...NEXT] } },
    ],
    'another model, and back': [
      first,
      { ...next, model: 'gpt-4.1-mini' },
      { ...next, body: continued(continued(CHAT)) },
    ],
    'two prompts, of which one goes on': [
      first,
      { body: { messages: [{ role: 'user', content: words('other', 400) }] }, usage: FIRST },
      next,
    ],
    'a reading that the cache lost afterwards': [
      first,
      read(next, 9_000),
      { ...next, body: continued(continued(CHAT)) },
    ],
    DeepSeek: [
      { ...first, provider: 'deepseek', model: 'deepseek-chat' },
      { ...next, provider: 'deepseek', model: 'deepseek-chat', afterMs: 60 * MINUTE },
    ],
    'DeepSeek, after hours': [
      { ...first, provider: 'deepseek', model: 'deepseek-chat' },
      { ...next, provider: 'deepseek', model: 'deepseek-chat', afterMs: 121 * MINUTE },
    ],
    'a model without a cache': [
      { ...first, provider: 'google', model: 'gemini-2.0-flash' },
      { ...next, provider: 'google', model: 'gemini-2.0-flash' },
    ],
    'such a model that has read': [
      read({ ...first, provider: 'google', model: 'gemini-2.0-flash' }, 6_000),
      { ...next, provider: 'google', model: 'gemini-2.0-flash' },
    ],
    'an unknown model': [
      { ...first, model: 'own' },
      { ...next, model: 'own' },
    ],
    'an unknown model that has read': [read({ ...first, model: 'own' }, 5_000), { ...next, model: 'own' }],
    'cached input at the price of input': [
      { ...first, model: 'gpt-4' },
      { ...next, model: 'gpt-4' },
    ],
    'Claude, dropped': [marked, markedNext],
    'Claude, without marks': [marked, { ...markedNext, body: unmarked, usage: SECOND }],
    'Claude, far behind its marks': [
      marked,
      { ...markedNext, body: { ...CLAUDE, messages: [...CLAUDE.messages, ...Array(11).fill(NEXT).flat()] } },
    ],
    'Claude, just behind its marks': [
      marked,
      { ...markedNext, body: { ...CLAUDE, messages: [...CLAUDE.messages, ...Array(10).fill(NEXT).flat()] } },
    ],
    'Claude, written for an hour': [
      { ...marked, usage: { ...FIRST, cacheWrite1hTokens: 9_000 } },
      { ...markedNext, afterMs: 50 * MINUTE },
    ],
    'Claude, read alone: kept as long as before': [
      { ...marked, usage: { ...FIRST, cacheWrite1hTokens: 9_000 } },
      { ...markedNext, usage: { ...FIRST, cachedInputTokens: 9_000 } },
      { ...markedNext, afterMs: 50 * MINUTE, body: continued(continued(CLAUDE)) },
    ],
    'Claude, five minutes over': [marked, { ...markedNext, afterMs: 5 * MINUTE + 1 }],
    'Claude, neither read nor written': [{ ...marked, usage: FIRST }, markedNext],
    'more was read than there is': [
      { ...marked, usage: { ...FIRST, cachedInputTokens: 12_000 } },
      markedNext,
    ],
  };
  const rows = Object.entries(sessions).map(([name, turns]): Row => ({ name, outcome: () => played(turns) }));
  await expectFrozen(import.meta.dirname, 'cached-sessions', rows);
});
