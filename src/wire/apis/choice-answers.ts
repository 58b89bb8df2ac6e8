import type { Range } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import type { TokenUsage } from '../../usage.ts';
import { dataIn, describeError, eventsIn, parseObject, valuesIn, without } from '../answer/events.ts';
import type { InspectedEvents, LimitEnding } from '../answer/inspected-events.ts';
import { addUsage, usageMember, withTier } from '../answer/usage.ts';
import { collectStrings } from '../request/prompt.ts';
import type { AnswerWire } from '../wire.ts';

/** Reads the responses of both APIs with choices: chat completions and legacy completions. */
export const choiceAnswers: Omit<AnswerWire, 'endpoint'> = {
  usageOf: usageMember,
  inspect: inspectChoices,
  hasContent: hasChoiceContent,
  isOver: isChoiceOver,
  endAtLimit: endChoicesAtLimit,
  textOf: choicesText,
};

/**
 * Matches events that need inspection. OpenAI's usage is null in all events but the last. One regular expression over
 * the text is ten times as fast as three byte searches.
 */
const MARKS = /\[DONE\]|"error"|"usage"(?![: ]*n)/;

/** Finds the usage, errors and `[DONE]`. A buffer without any of these is forwarded unparsed. */
export function inspectChoices(events: Buffer, hideUsage: boolean): InspectedEvents {
  if (!MARKS.test(events.toString('latin1'))) return { pass: events };
  const result: InspectedEvents = { pass: events };
  const hidden: Range[] = [];
  for (const { start, end, data } of eventsIn(events)) {
    if (data === '[DONE]' && !result.closing) {
      result.closing = events.subarray(start);
      result.pass = without(events.subarray(0, start), hidden);
    } else if (inspectData(data, result) && hideUsage && !result.closing) hidden.push({ start, end });
  }
  if (!result.closing) result.pass = without(events, hidden);
  return result;
}

/** Reads usage and errors. Returns whether the event contains only the usage. */
function inspectData(data: string, result: InspectedEvents): boolean {
  const isMarked = data.includes('"usage"') || data.includes('"error"');
  const chunk = isMarked ? parseObject(data) : undefined;
  if (chunk?.error) result.error = describeError(chunk.error);
  const choices: unknown[] = Array.isArray(chunk?.choices) ? chunk.choices : [];
  const usage = chunk && reportedUsage(chunk, choices);
  if (!usage) {
    // A total followed by text is not final.
    if (result.usageIs === 'so far' && hasText(data)) result.usageIs = 'opening';
    return false;
  }
  result.usage = addUsage(result.usage, withTier(usage, chunk.service_tier));
  // Some providers report usage with every chunk. It is final once all choices have a finish reason.
  result.usageIs = choices.every(isFinished) ? undefined : 'so far';
  return Array.isArray(chunk.choices) && choices.length === 0;
}

/** The usage of a chunk; Groq reports it in `x_groq`, Moonshot in the choice. */
function reportedUsage(
  { usage, x_groq }: Record<string, unknown>,
  [choice]: readonly unknown[],
): Record<string, unknown> | undefined {
  const places = [usage, isObject(x_groq) && x_groq.usage, isObject(choice) && choice.usage];
  return places.find(isObject);
}

function hasText(data: string): boolean {
  const texts: string[] = [];
  collectText(data, texts);
  return texts.some((text) => text !== '');
}

const isFinished = (choice: unknown): boolean => isObject(choice) && typeof choice.finish_reason === 'string';

/** Whether a chunk has a finish reason, or a delta with content besides the role. */
function hasChoiceContent(events: Buffer): boolean {
  for (const { choices } of valuesIn(events)) {
    if (!Array.isArray(choices)) continue;
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      const { delta, text } = choice;
      if (isFinished(choice) || hasValue(text)) return true;
      if (
        isObject(delta) &&
        Object.entries(delta).some(([key, value]) => key !== 'role' && hasValue(value))
      ) {
        return true;
      }
    }
  }
  return false;
}

/** Whether a chunk has a finish reason. */
function isChoiceOver(events: Buffer): boolean {
  for (const { choices } of valuesIn(events)) {
    if (Array.isArray(choices) && choices.some(isFinished)) return true;
  }
  return false;
}

function hasValue(value: unknown): boolean {
  return (
    value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
  );
}

/** The generated text of all choices: content, refusals, reasoning, tool calls, and text of legacy completions. */
export function choicesText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectText(answer.toString('utf8'), texts);
    return texts;
  }
  for (const data of dataIn(answer)) {
    const piece = contentOf(data);
    if (piece === undefined) collectText(data, texts);
    else texts.push(piece);
  }
  // Joined before counting, because separately counted deltas would cost at least one token each.
  return [texts.join('')];
}

const DELTA = '"choices":[{"index":0,"delta":{"content":"';

/** Fast path: the text of a chunk with content only, found without parsing; undefined for any other chunk. */
function contentOf(data: string): string | undefined {
  const at = data.indexOf(DELTA);
  if (at < 0) return undefined;
  const start = at + DELTA.length;
  const end = data.indexOf('"}', start);
  const piece = data.slice(start, end);
  const isAlone = end > 0 && !/["\\]/.test(piece) && !/"(delta|message)"/.test(data.slice(end));
  return isAlone && data.endsWith('}') ? piece : undefined;
}

function collectText(json: string, texts: string[]): void {
  const choices = parseObject(json)?.choices;
  if (!Array.isArray(choices)) return;
  for (const choice of choices) {
    const { message, delta, text } = (choice ?? {}) as { message?: unknown; delta?: unknown; text?: unknown };
    collectStrings(message ?? delta ?? text, texts);
  }
}

/** Ends a stream of choices: finish reason `length` for each open choice, then the usage and `[DONE]`. */
function endChoicesAtLimit(): LimitEnding {
  let last: Record<string, unknown> = {};
  const open = new Map<unknown, boolean>();
  return {
    take(events) {
      for (const value of valuesIn(events)) {
        last = value;
        for (const choice of Array.isArray(value.choices) ? value.choices : []) {
          if (isObject(choice)) open.set(choice.index, !isFinished(choice));
        }
      }
    },
    end(usage) {
      const { id = '', object = 'chat.completion.chunk', created = 0, model = '' } = last;
      const identity = { id, object, created, model };
      const empty = object === 'text_completion' ? { text: '' } : { delta: {} };
      const unfinished = [...open].filter(([, isOpen]) => isOpen).map(([index]) => index);
      const chunks = (open.size === 0 ? [0] : unfinished).map((index) => ({
        ...identity,
        choices: [{ index, ...empty, logprobs: null, finish_reason: 'length' }],
      }));
      const all = usage ? [...chunks, { ...identity, choices: [], usage: usageOf(usage) }] : chunks;
      const data = [...all.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
      return Buffer.from(data.map((each) => `data: ${each}\n\n`).join(''));
    },
  };
}

function usageOf(usage: TokenUsage) {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
