import { isObject } from '../../json/object.ts';
import { eventsIn, parseObject } from '../../wire/answer/events.ts';

const MODEL = Buffer.from('"model"');
/** Events that are looked at for the model's name. */
const MAX_EVENTS = 8;

/** The name of the model that wrote an answer, as the answer has it: a JSON body, or the first events of a stream. */
export function servedModel(answer: Buffer, isStream: boolean): string | undefined {
  if (answer.indexOf(MODEL) < 0) return undefined;
  if (!isStream) return nameIn(parseObject(answer.toString('utf8')));
  let seen = 0;
  for (const { data } of eventsIn(answer)) {
    const name = nameIn(parseObject(data));
    if (name !== undefined) return name;
    if (++seen >= MAX_EVENTS) return undefined;
  }
  return undefined;
}

function nameIn(value: Record<string, unknown> | undefined): string | undefined {
  for (const part of [value, value?.message, value?.response]) {
    if (isObject(part) && typeof part.model === 'string') return part.model;
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
