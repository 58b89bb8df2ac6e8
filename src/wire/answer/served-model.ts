import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { eventsIn, parseObject } from './events.ts';

const MODEL = Buffer.from('"model"');
/** Events that are looked at for the model's name. */
const MAX_EVENTS = 8;

/** The model and the id that an answer states: a JSON body, or the first events of a stream. */
export interface AnswerHead {
  model: string;
  id: string | undefined;
}

/** Undefined if the answer names no model. */
export function answerHead(answer: Buffer, isStream: boolean): AnswerHead | undefined {
  const at = answer.indexOf(MODEL);
  if (at < 0) return undefined;
  if (!isStream) return headIn(headAtStart(answer, at) ?? headAtEnd(answer, at) ?? topLevel(answer));
  let seen = 0;
  for (const { data } of eventsIn(answer)) {
    const head = headIn(parseObject(data));
    if (head) return head;
    if (++seen >= MAX_EVENTS) return undefined;
  }
  return undefined;
}

/**
 * Parses only the beginning, up to the model's name: with `}` behind it, that is valid JSON if the name is at the top
 * level. Undefined if that fails, or if the id may follow.
 */
function headAtStart(answer: Buffer, at: number): Record<string, unknown> | undefined {
  const end = answer.indexOf(QUOTE, answer.indexOf(QUOTE, at + MODEL.length) + 1);
  if (end < 0 || end > MAX_HEAD_BYTES) return undefined;
  const head = parseObject(`${answer.toString('utf8', 0, end + 1)}}`);
  return head?.id === undefined ? undefined : head;
}

/** The same from the name on, for answers that state it behind everything else, as embeddings do. */
function headAtEnd(answer: Buffer, at: number): Record<string, unknown> | undefined {
  if (answer.length - at > MAX_HEAD_BYTES) return undefined;
  const end = parseObject(`{${answer.toString('utf8', at)}`);
  return end?.id === undefined && answer.subarray(0, at).includes(ID) ? undefined : end;
}

const ID = Buffer.from('"id"');
const QUOTE = 0x22;
const MAX_HEAD_BYTES = 4096;

function topLevel(answer: Buffer): Record<string, unknown> | undefined {
  try {
    const members = scanObject(answer).filter(({ key }) => key === 'model' || key === 'id');
    return Object.fromEntries(members.map((member) => [member.key, readValue(answer, member)]));
  } catch {
    return undefined;
  }
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

/** Whether an answer's model is the requested one, or that name with a version in place of `latest` or behind it. */
export function isSameModel(requested: string, served: string): boolean {
  const asked = baseName(requested).replace(/-latest$/, '');
  const name = baseName(served);
  return name === asked || (name.startsWith(asked) && name.replace(VERSION, '') === asked);
}

/** The name without the maker's, which some hosts leave out: `models/gemini-3-pro`. */
const baseName = (model: string): string => model.toLowerCase().replace(/^.*\//, '');
