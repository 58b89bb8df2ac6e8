import { COLON, OPEN_BRACE, QUOTE, SPACE } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { makersName, VERSION } from '../../pricing/deployments.ts';
import { eventsIn, parseObject, valuesIn } from './events.ts';

const MODEL = Buffer.from('"model"');
/** Gemini's name of it. */
const MODEL_VERSION = Buffer.from('"modelVersion"');
/** Number of events searched for the model name. */
const MAX_EVENTS = 8;

/** Model and id stated in a response: a JSON body, or the first events of a stream. */
export interface AnswerHead {
  model: string;
  id: string | undefined;
}

/** Undefined if the response names no model. */
export function answerHead(answer: Buffer, isStream: boolean): AnswerHead | undefined {
  if (answer.includes(MODEL_VERSION)) return geminiHead(answer, isStream);
  const at = answer.indexOf(MODEL);
  if (at < 0) return undefined;
  if (!isStream) return headIn(headAtStart(answer, at) ?? headAtEnd(answer, at) ?? topLevel(answer));
  let count = 0;
  for (const { data } of eventsIn(answer)) {
    const head = headIn(parseObject(data));
    if (head) return head;
    if (++count >= MAX_EVENTS) return undefined;
  }
  return undefined;
}

function geminiHead(answer: Buffer, isStream: boolean): AnswerHead | undefined {
  const [value] = isStream ? valuesIn(answer) : [parseObject(answer.toString('utf8'))];
  return headIn(value && { model: value.modelVersion, id: value.responseId });
}

/**
 * Quick check: whether a response names exactly this model in its first object, before any nested one. False doesn't
 * mean that it names another.
 */
export function namesModel(answer: Buffer, model: string): boolean {
  const at = answer.indexOf(MODEL);
  if (at < 0 || answer.lastIndexOf(OPEN_BRACE, at) !== answer.indexOf(OPEN_BRACE)) return false;
  let start = at + MODEL.length;
  if (answer[start++] !== COLON || model.includes('\\')) return false;
  if (answer[start] === SPACE) start++;
  return answer.toString('latin1', start, start + model.length + 2) === `"${model}"`;
}

/**
 * Fast path: parses the body up to the model name. Followed by `}`, that is valid JSON if the name is at the top level.
 * Undefined if that fails, or if the id may follow.
 */
function headAtStart(answer: Buffer, at: number): Record<string, unknown> | undefined {
  const end = answer.indexOf(QUOTE, answer.indexOf(QUOTE, at + MODEL.length) + 1);
  if (end < 0 || end > MAX_HEAD_BYTES) return undefined;
  const head = parseObject(`${answer.toString('utf8', 0, end + 1)}}`);
  return head?.id === undefined ? undefined : head;
}

/** The same from the name to the end, for bodies that state it last, as embeddings do. */
function headAtEnd(answer: Buffer, at: number): Record<string, unknown> | undefined {
  if (answer.length - at > MAX_HEAD_BYTES) return undefined;
  const end = parseObject(`{${answer.toString('utf8', at)}`);
  return end?.id === undefined && answer.subarray(0, at).includes(ID) ? undefined : end;
}

const ID = Buffer.from('"id"');
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

/** Whether a name contains its version, so that it can't come to mean another model. */
export const isDated = (model: string): boolean => VERSION.test(model);

/** Whether a response's model is the requested one, perhaps with a version appended or instead of `latest`. */
export function isSameModel(requested: string, served: string): boolean {
  if (requested === served) return true;
  const base = baseName(requested).replace(/-latest$/, '');
  const name = baseName(served);
  return name === base || (name.startsWith(base) && name.replace(VERSION, '') === base);
}

/** The name without its maker's prefix, which some hosts omit: `models/gemini-3-pro`. */
const baseName = (model: string): string => makersName(model.toLowerCase().replace(/^.*\//, ''));

const HEAD_BYTES = 512;
/** The usual place of the id at OpenAI and Anthropic: among the first fields of the body or of the first event. */
const EARLY_ID =
  /^\s*(?:event:[^\n]*\n)?(?:data: ?)?\{\s*(?:"(?:type|model|role|object|sequence_number)":\s*(?:"[^"]*"|\d+),\s*)*(?:"(?:message|response)":\s*\{\s*)?(?:"(?:type|model|role|object)":\s*"[^"]*",\s*)*"id":\s*"([^"\\]*)"/;

/** The provider's response id, such as `msg_...`, from a body or from first events; empty if missing or unusable. */
export function messageIdIn(answer: Buffer, isStream: boolean): string {
  const early = EARLY_ID.exec(answer.toString('latin1', 0, HEAD_BYTES));
  const id = early ? early[1] : isStream ? idInEvents(answer) : idInBody(answer);
  return typeof id === 'string' && PLAIN_ID.test(id) ? id : '';
}

/** Providers choose the ids, so their characters and length are checked. */
const PLAIN_ID = /^[\x21-\x7e]{1,128}$/;

function idInEvents(events: Buffer): unknown {
  for (const { id, responseId, message, response } of valuesIn(events)) {
    const inner = isObject(message) ? message.id : isObject(response) ? response.id : (id ?? responseId);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function idInBody(body: Buffer): unknown {
  try {
    const id = scanObject(body).find(({ key }) => key === 'id' || key === 'responseId');
    return id && readValue(body, id);
  } catch {
    return undefined;
  }
}
