import { expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { DIALECTS, NO_DIALECT, UNKNOWN } from '../../src/providers/dialects/dialects.ts';
import { createItemMemories } from '../../src/translation/carry/item-memory.ts';
import type { Api } from '../../src/translation/context.ts';
import { translateAnswers, translateBody } from '../../src/translation/translate.ts';
import { dataIn } from '../../src/wire/answer/events.ts';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { mutateJson, writeJson } from '../fuzz/mutate.ts';
import type { StrictApi } from './providers/strict.ts';
import { strictChat } from './providers/strict-chat.ts';
import { strictGemini } from './providers/strict-gemini.ts';
import { strictMessages } from './providers/strict-messages.ts';
import { strictResponses } from './providers/strict-responses.ts';
import { REQUESTS } from './requests.ts';

const SEED = Number(process.env.GW_SEED ?? 7);
const CASES = Number(process.env.GW_FUZZ_CASES ?? (process.env.GW_LONG ? 200_000 : 2_000));
const FROM = Number(process.env.GW_FUZZ_FROM ?? 0);

const APIS: Api[] = ['chat/completions', 'messages', 'responses', 'gemini'];
const DIALECT_NAMES = Object.keys(DIALECTS);
const memory = createItemMemories(1_000_000)(1);

/** What a client of an API stops at, in the data of an event. */
const ENDS: Record<Api, RegExp> = {
  'chat/completions': /^\[DONE\]$/,
  messages: /"type":"message_stop"/,
  responses: /"type":"response\.(completed|incomplete|failed)"/,
  gemini: /"finishReason":"/,
};

/** A request with members replaced, dropped, doubled or renamed: translated to JSON, or refused with a 400. */
function requestProblem(dice: Dice): string | undefined {
  const from = dice.pick(APIS);
  const to = dice.pick(APIS);
  const body = Buffer.from(writeJson(mutateJson(REQUESTS[from], dice), dice));
  const provider = dice.pick(DIALECT_NAMES);
  const options = {
    provider,
    model: dice.pick(['m', 'gpt-5.4', 'claude-sonnet-4-5', 'claude-opus-5', 'gemini-3-pro']),
    maxTokens: 1_000,
    maxOutputTokens: dice.pick([undefined, 8_000]),
    outputLimit: 'max_tokens',
    dialect: DIALECTS[provider] ?? {},
    isCodex: dice.chance(0.5),
  } as const;
  try {
    JSON.parse(String(translateBody(body, { from, to }, options, memory).bytes));
    return undefined;
  } catch (error) {
    if (error instanceof GwError && error.status === 400) return undefined;
    return `${from} to ${to}: ${String(error)} for ${body.toString().slice(0, 300)}`;
  }
}

const PROVIDERS: Record<Api, (dice: Dice) => StrictApi> = {
  'chat/completions': (dice) =>
    strictChat({
      reasoningIn: dice.pick(['reasoning_content', 'reasoning', 'reasoning_details']),
      oneIndex: dice.chance(0.3),
      argumentsAsObject: dice.chance(0.3),
      comments: dice.chance(0.3),
      finishReason: dice.pick(['tool_calls', 'stop', '', null]),
      ...(dice.chance(0.3) && { wantsBack: 'extra_content' as const }),
    }),
  messages: () => strictMessages(),
  responses: () => strictResponses(),
  gemini: (dice) => strictGemini({ isBefore3: dice.chance(0.3) }),
};

const TEXT = 'Some words that the provider says.';

/** A provider's events, some changed, doubled, dropped or out of order, and an answer of that kind: all reach the client. */
function answerProblem(dice: Dice): string | undefined {
  const from = dice.pick(APIS);
  const to = dice.pick(APIS);
  const names = dice.chance(0.2) ? ([['f', 'client']] as [string, string][]) : [];
  const options = {
    provider: 'mock',
    model: 'm',
    wantsUsage: dice.chance(0.5),
    now: () => 0,
    request: { ...(mutateJson<object>(REQUESTS[from], dice, 1) ?? {}) },
    names,
    callIds: dice.chance(0.3) ? ['call_m_0_0', 'toolu_0_0_9'] : [],
    newId: (prefix: string) => `${prefix}_1`,
    dialect: dice.chance(0.5) ? UNKNOWN : NO_DIALECT,
    memory,
  };
  const api = PROVIDERS[to](dice);
  const calls = dice.chance(0.5) ? [{ name: 'f', args: { a: 'b' } }] : [];
  const reply = { turn: 0, model: 'm', reasoning: 'Hm', text: TEXT, calls, usage: { input: 9, output: 5 } };
  const data = dataIn(Buffer.from(api.stream(reply)));
  const isMutated = dice.chance(0.8);
  const changed = isMutated ? data.flatMap((each) => changedEvent(each, dice)) : data;
  const translator = translateAnswers({ from, to }, options);
  try {
    const out: Buffer[] = [];
    for (let i = 0; i < changed.length; ) {
      const count = 1 + dice.below(4);
      const events = changed
        .slice(i, i + count)
        .map((each) => `data: ${each}\n\n`)
        .join('');
      if (dice.chance(0.05)) out.push(translator.sign());
      out.push(translator.events(Buffer.from(events)));
      i += count;
    }
    out.push(translator.end());
    const answered = translator.answer(
      Buffer.from(writeJson(mutateJson(api.plain(reply), dice), dice)),
      dice.pick([200, 200, 400, 500]),
    );
    JSON.parse(String(answered));
    return isMutated ? streamProblem(Buffer.concat(out)) : wholeProblem(Buffer.concat(out), from);
  } catch (error) {
    if (error instanceof GwError && error.status === 502) return undefined;
    return `${from} over ${to}: ${(error as Error).stack?.slice(0, 400)}`;
  }
}

function changedEvent(data: string, dice: Dice): string[] {
  const roll = dice.below(12);
  if (roll === 0) return [];
  if (roll === 1) return [data, data];
  if (roll > 4 || !data.startsWith('{')) return [data];
  const value = writeJson(mutateJson(JSON.parse(data), dice, 1), dice).replaceAll('\n', ' ');
  return roll === 2 ? [value, data] : [value];
}

function streamProblem(bytes: Buffer): string | undefined {
  const odd = dataIn(bytes).find((data) => data !== '' && data !== '[DONE]' && !isJson(data));
  return odd === undefined ? undefined : `no JSON: ${odd.slice(0, 200)}`;
}

/** An answer that nothing has happened to: its text once, and an end. */
function wholeProblem(bytes: Buffer, from: Api): string | undefined {
  const data = dataIn(bytes);
  if (data.filter((each) => ENDS[from].test(each)).length !== 1)
    return `${from}: not one end in ${data.length} events`;
  const deltas = data
    .filter((each) => each.startsWith('{'))
    .map((each) => JSON.parse(each))
    .map(
      ({ choices, candidates, delta, type }) =>
        choices?.[0]?.delta?.content ??
        candidates?.[0]?.content.parts.find((part: { thought?: boolean }) => !part.thought)?.text ??
        (type === 'response.output_text.delta' ? delta : delta?.text) ??
        '',
    );
  return deltas.join('') === TEXT ? streamProblem(bytes) : `${from}: the text is ${deltas.join('')}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test.each([
  ['requests', requestProblem],
  ['answers', answerProblem],
])(
  `${CASES} %s, changed at any place: no 500, no lost or doubled text, an end where there must be one`,
  (_, problemOf) => {
    const problems: string[] = [];
    for (let i = FROM; i < FROM + CASES && problems.length < 5; i++) {
      const problem = problemOf(diceOf(SEED, i));
      if (problem !== undefined) problems.push(`GW_SEED=${SEED} GW_FUZZ_FROM=${i}: ${problem}`);
    }
    expect(problems).toEqual([]);
  },
  3_600_000,
);
