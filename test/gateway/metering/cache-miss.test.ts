import { expect, it } from 'vitest';
import type { CacheView } from '../../../src/operations/schemas/cache.ts';
import { commandLineOf } from '../../cli/cli-home.ts';
import { createCachedProvider, type ServedPrompt } from '../../support/cached-provider.ts';
import { seededRandom } from '../../support/random.ts';
import { startUpstream } from '../../support/upstream.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { startBothWires } from '../../wire/support/anthropic-gateway.ts';
import { send } from '../../wire/support/send.ts';

const WORDS =
  'the parser reads every token of a request and returns an error when some value is missing, so callers retry with a smaller batch until nothing of the queue remains open'.split(
    ' ',
  );

/** Nano-USD for a token: input, read, written for 5 minutes, for an hour. */
const PRICES: Record<string, readonly [number, number, number, number]> = {
  'claude-sonnet-4-5': [3_000, 300, 3_750, 6_000],
  'claude-haiku-4-5': [1_000, 100, 1_250, 2_000],
  'gpt-4.1': [2_000, 500, 2_000, 2_000],
  'gpt-4.1-mini': [400, 100, 400, 400],
};

const CAUSES = [
  'tools_changed',
  'system_changed',
  'message_edited',
  'idle_past_ttl',
  'other_model',
  'provider_dropped',
  'unknown',
] as const;
type Cause = (typeof CAUSES)[number];

interface Tool {
  name: string;
  description: string;
}

/** A conversation as an agent keeps it. */
interface Talk {
  id: string;
  isClaude: boolean;
  ttl: '5m' | '1h';
  model: string;
  tools: Tool[];
  system: string[];
  messages: { role: 'user' | 'assistant'; text: string }[];
  isUnmarked: boolean;
}

type Random = () => number;

function prose(random: Random, words: number): string {
  return Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
}

function newTalk(random: Random, id: string, isClaude: boolean): Talk {
  const names = ['read', 'write', 'search', 'run', 'list', 'fetch'];
  return {
    id,
    isClaude,
    ttl: random() < 0.3 ? '1h' : '5m',
    model: isClaude ? 'claude-sonnet-4-5' : 'gpt-4.1',
    tools: names.map((name) => ({ name: `${name}_${id}`, description: prose(random, 60) })),
    system: [prose(random, 700), `Today is day ${Math.floor(random() * 300)}. ${prose(random, 300)}`],
    messages: [{ role: 'user', text: prose(random, 120) }],
    isUnmarked: false,
  };
}

function bodyOf({ isClaude, ttl, model, tools, system, messages, isUnmarked }: Talk): object {
  const mark = isUnmarked ? {} : { cache_control: { type: 'ephemeral', ...(ttl === '1h' ? { ttl } : {}) } };
  const schema = { type: 'object', properties: { path: { type: 'string' }, limit: { type: 'integer' } } };
  if (!isClaude)
    return {
      model,
      max_tokens: 50,
      tools: tools.map((tool) => ({ type: 'function', function: { ...tool, parameters: schema } })),
      messages: [
        ...system.map((content) => ({ role: 'system', content })),
        ...messages.map(({ role, text }) => ({ role, content: text })),
      ],
    };
  return {
    model,
    max_tokens: 50,
    tools: tools.map((tool) => ({ ...tool, input_schema: schema })),
    system: system.map((text, i) => ({ type: 'text', text, ...(i === system.length - 1 ? mark : {}) })),
    messages: messages.map(({ role, text }, i) => ({
      role,
      content: [{ type: 'text', text, ...(i === messages.length - 1 ? mark : {}) }],
    })),
  };
}

/** Changes one word of a text. */
function edited(random: Random, text: string): string {
  const words = text.split(' ');
  words[Math.floor(random() * words.length)] = 'elsewhere';
  return words.join(' ');
}

/** Adds a turn to a conversation, with a planted cause. */
function nextTurn(random: Random, talk: Talk, cause: Cause | undefined): void {
  const { tools, system, messages } = talk;
  if (cause === 'tools_changed') {
    const kind = random();
    const [first] = tools;
    if (kind < 0.4 && first) first.description = edited(random, first.description);
    else if (kind < 0.7)
      tools.splice(1, 0, { name: `new_${messages.length}`, description: prose(random, 40) });
    else tools.reverse();
  }
  if (cause === 'system_changed') system[0] = edited(random, system[0] ?? '');
  const old = messages[Math.floor(random() * 2) * 2];
  if (cause === 'message_edited' && old) old.text = edited(random, old.text);
  if (cause === 'other_model')
    talk.model =
      { 'claude-sonnet-4-5': 'claude-haiku-4-5', 'gpt-4.1': 'gpt-4.1-mini' }[talk.model] ?? talk.model;
  talk.isUnmarked = cause === 'unknown';
  messages.push({ role: 'assistant', text: prose(random, 150) }, { role: 'user', text: prose(random, 100) });
}

/** Of the tokens that the cache had, those that stand in the prompt too: what could have been read. */
function readable(before: ServedPrompt, { tokens }: ServedPrompt): number {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  let common = 0;
  for (const token of before.tokens.slice(0, before.cached)) {
    const left = counts.get(token) ?? 0;
    if (left === 0) continue;
    counts.set(token, left - 1);
    common++;
  }
  return common;
}

/** What the missed tokens cost beyond reading them: written tokens come first in a prompt. */
function extra({ model, written5m, written1h }: ServedPrompt, missed: number): number {
  const [input, read, write, write1h] = PRICES[model] ?? [0, 0, 0, 0];
  const for1h = Math.min(missed, written1h);
  const for5m = Math.min(missed - for1h, written5m);
  return for1h * (write1h - read) + for5m * (write - read) + (missed - for1h - for5m) * (input - read);
}

async function startSimulation() {
  const clock = createVirtualClock();
  const bytes = seededRandom('cache');
  const random = () => bytes(4).readUInt32BE() / 2 ** 32;
  const provider = createCachedProvider(() => clock.now());
  const upstream = await startUpstream({ script: provider.script });
  const gateway = await startBothWires({
    upstream,
    clock,
    settings: { providers: { openai: { baseUrl: upstream.url } } },
    credentials: { mock: 'k', anthropic: 'sk-ant-provider', openai: 'sk-provider' },
  });
  return { clock, random, provider, gateway };
}

it('bills what a provider could have read from its cache, and names the planted causes', async () => {
  const { clock, random, provider, gateway } = await startSimulation();
  const truth: { cause: Cause | undefined; tokens: number; nanoUsd: number }[] = [];
  for (let session = 0; session < 9; session++) {
    const talk = newTalk(random, `s${session}`, session % 2 === 0);
    let before: ServedPrompt | undefined;
    let isSwitched = false as boolean;
    for (let turn = 0; turn < 7; turn++) {
      const planted =
        turn > 1 && turn % 2 === 0 ? CAUSES[(session * 3 + turn / 2) % CAUSES.length] : undefined;
      const cause: Cause | undefined =
        (planted === 'unknown' && !talk.isClaude) || (planted === 'other_model' && isSwitched)
          ? undefined
          : planted;
      isSwitched ||= cause === 'other_model';
      if (turn > 0) nextTurn(random, talk, cause);
      if (cause === 'provider_dropped') provider.drop();
      const idleMs =
        cause === 'idle_past_ttl' ? (talk.isClaude && talk.ttl === '1h' ? 61 : 6) * 60_000 : 20_000;
      await clock.advance(idleMs + Math.floor(random() * 10_000));
      const path = talk.isClaude ? '/v1/messages' : '/v1/chat/completions';
      const headers = { 'x-session-id': talk.id };
      const answer = await send(gateway, path, bodyOf(talk), { headers });
      expect([answer.status, answer.status === 200 ? '' : answer.text()]).toEqual([200, '']);
      const served = provider.served.at(-1);
      if (!served) throw new Error('nothing was served');
      const could = before && before.cached > 0 ? readable(before, served) : 0;
      const missed = cause === undefined ? 0 : Math.max(0, could - served.read);
      truth.push({ cause: missed > 0 ? cause : undefined, tokens: missed, nanoUsd: extra(served, missed) });
      before = served;
    }
  }
  const misses = (await gateway.records()).map(({ detail }) => detail.cache_miss as Miss | undefined);
  const planted = truth.filter(({ cause }) => cause !== undefined);
  const bothNamed = truth.filter(({ cause }, i) => cause !== undefined && misses[i]?.cause === cause);
  expect(new Set(planted.map(({ cause }) => cause))).toEqual(new Set(CAUSES));
  expect(bothNamed.length).toBeGreaterThanOrEqual(0.95 * planted.length);
  expect(misses.filter((miss, i) => miss && truth[i]?.cause === undefined)).toEqual([]);
  const billed = sum(misses.map((miss) => miss?.missed_tokens ?? 0));
  const billedUsd = sum(misses.map((miss) => miss?.missed_usd ?? 0));
  expect(Math.abs(billed / sum(truth.map(({ tokens }) => tokens)) - 1)).toBeLessThan(0.01);
  expect(Math.abs((billedUsd * 1e9) / sum(truth.map(({ nanoUsd }) => nanoUsd)) - 1)).toBeLessThan(0.01);
  for (const how of ['locally', 'remotely'] as const) {
    const cli = commandLineOf(gateway, how, clock);
    const report = await cli.json<CacheView>(['cache', '--since', '1d']);
    expect(report.total).toEqual({
      requests: report.data.length,
      missed_tokens: billed,
      missed_usd: expect.closeTo(billedUsd, 9),
    });
    const { data } = await cli.json<CacheView>(['cache', '--session', 's0', '--since', '1d']);
    expect(data.map(({ cause }) => cause)).toEqual(['idle_past_ttl', 'message_edited', 'system_changed']);
    expect(data[1]).toMatchObject({
      session_id: 's0',
      field: 'messages[0].content[0].text',
      message_index: 0,
      offset: expect.any(Number),
    });
    const { stdout } = await cli.run(['requests', data[1]?.request_id ?? '']);
    expect(stdout).toMatch(
      /cache miss +[\d,]+ tokens not read, \$[\d.]+ extra: earlier message changed\s+\(messages\[0\]/,
    );
    expect((await cli.run(['cache'])).stdout).toContain('instructions changed');
    expect((await cli.run(['usage'])).stdout).toMatch(/ missed +output .*tokens missed .*: gw cache/s);
    const { total } = await cli.json<{ total: Record<string, number> }>(['usage']);
    expect(total).toMatchObject({ missed_tokens: billed, missed_usd: report.total.missed_usd });
  }
});

interface Miss {
  missed_tokens: number;
  missed_usd: number;
  cause: Cause;
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

it('bills nothing where a cache had no more: compaction, a rewind, another thread, a first request', async () => {
  const { clock, random, gateway } = await startSimulation();
  const ask = async (talk: Talk) => {
    const path = talk.isClaude ? '/v1/messages' : '/v1/chat/completions';
    await clock.advance(10_000);
    const { status } = await send(gateway, path, bodyOf(talk), { headers: { 'x-session-id': talk.id } });
    expect(status).toBe(200);
  };
  for (const isClaude of [true, false]) {
    const talk = newTalk(random, `quiet-${isClaude}`, isClaude);
    const thread = { ...newTalk(random, 'thread', isClaude), id: talk.id };
    for (let turn = 0; turn < 6; turn++) {
      await ask(talk);
      nextTurn(random, talk, undefined);
      await ask(thread);
      nextTurn(random, thread, undefined);
    }
    talk.messages.splice(-2);
    talk.messages.push({ role: 'assistant', text: 'No.' }, { role: 'user', text: prose(random, 80) });
    await ask(talk);
    talk.messages = [{ role: 'user', text: `What was done so far: ${prose(random, 200)}` }];
    await ask(talk);
    nextTurn(random, talk, undefined);
    await ask(talk);
  }
  const misses = (await gateway.records()).map(({ detail }) => detail.cache_miss);
  expect(misses.filter((miss) => miss !== undefined)).toEqual([]);
});
