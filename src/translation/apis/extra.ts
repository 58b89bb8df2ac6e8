import type { RequestContext } from '../context.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { type Json, lookUp } from '../json.ts';

type IsDefault = Readonly<Record<string, (value: unknown) => boolean>>;

/** What an API does with fields of clients' that have no neutral meaning; it can't express the others. */
export interface ExtraRules {
  /** Fields with the same meaning in it. */
  same?: ReadonlySet<string>;
  /** Hints that don't affect an answer. */
  skipped?: ReadonlySet<string>;
  /** Fields that an answer can do without, which are recorded. */
  leftOut: ReadonlySet<string>;
  /** Whether a value is what the API does by default. */
  isDefault?: IsDefault;
}

/** Defaults of chat completions that the other APIs share. */
export const CHAT_DEFAULTS: IsDefault = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
};

/** Fields of one API in another. Throws GwError 400 for one that it can't express. */
export function writtenExtra(
  { extra }: Conversation,
  { same, skipped, leftOut, isDefault = {} }: ExtraRules,
  { leaveOut, cannotExpress }: RequestContext,
): Json {
  const fields: Json = {};
  for (const [key, value] of Object.entries(extra)) {
    if (skipped?.has(key)) continue;
    if (same?.has(key)) fields[key] = value;
    else if (leftOut.has(key)) leaveOut(key);
    else if (!lookUp(isDefault, key)?.(value)) throw cannotExpress(key);
  }
  return fields;
}
