import { isObject } from '../../json/object.ts';
import { eventsIn, parseObject } from '../../wire/answer/events.ts';

const MODEL = Buffer.from('"model"');
/** Events that are looked at for the model's name. */
const MAX_EVENTS = 8;

/** What an answer says of itself: a JSON body, or the first events of a stream. */
export interface AnswerHead {
  model: string;
  id: string | undefined;
}

/** Undefined if the answer names no model. */
export function answerHead(answer: Buffer, isStream: boolean): AnswerHead | undefined {
  if (answer.indexOf(MODEL) < 0) return undefined;
  if (!isStream) return headIn(parseObject(answer.toString('utf8')));
  let seen = 0;
  for (const { data } of eventsIn(answer)) {
    const head = headIn(parseObject(data));
    if (head) return head;
    if (++seen >= MAX_EVENTS) return undefined;
  }
  return undefined;
}

function headIn(value: Record<string, unknown> | undefined): AnswerHead | undefined {
  for (const part of [value, value?.message, value?.response]) {
    if (!isObject(part) || typeof part.model !== 'string') continue;
    return { model: part.model, id: typeof part.id === 'string' ? part.id : undefined };
  }
  return undefined;
}

/** A date, or a version of three or four digits as in `gpt-4-0613`. */
const VERSION = /[-@:](?:20\d\d-?[01]\d-?[0-3]\d|\d{3,4}|v\d+(?:\.\d+)*)$/;

/** Whether a name says which version it is, so that it can't be given to another model. */
export function isDated(model: string): boolean {
  return VERSION.test(model);
}

/** Whether an answer's model is the requested one, or that name with a version behind it. */
export function isSameModel(requested: string, served: string): boolean {
  const asked = baseName(requested);
  const name = baseName(served);
  return name === asked || (name.startsWith(asked) && name.replace(VERSION, '') === asked);
}

/** The name without the maker's, which some hosts leave out: `models/gemini-3-pro`. */
const baseName = (model: string): string => model.toLowerCase().replace(/^.*\//, '');
