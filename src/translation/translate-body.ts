import { badRequest } from '../errors.ts';
import { parseObject } from '../wire/answer/events.ts';
import type { Json } from './json.ts';
import { createLeftOut } from './left-out.ts';
import type { ItemMemory } from './responses-over-chat/item-memory.ts';
import type { Translation } from './translations.ts';
import type { RequestOptions } from './translator.ts';

/** Options of a request's translation. Plain data, so that another thread can be sent them. */
export type BodyOptions = Omit<RequestOptions, 'leaveOut'> & { isCodex: boolean };

export interface TranslatedBody {
  /** The body in the provider's API. */
  bytes: Buffer;
  /** The client's request. */
  request: Json;
  /** Fields of it that the provider's API doesn't have. */
  leftOut: string[];
}

/** Translates a request's body. Throws GwError 400 for what the provider's API can't express. */
export function translateBody(
  body: Buffer,
  { translateRequest }: Pick<Translation, 'translateRequest'>,
  options: BodyOptions,
  memory: Pick<ItemMemory, 'recall'>,
): TranslatedBody {
  const request = parseObject(body.toString('utf8'));
  if (!request) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const { leaveOut, fields } = createLeftOut();
  const translated = translateRequest(request, { ...options, memory, leaveOut });
  return { bytes: Buffer.from(JSON.stringify(translated)), request, leftOut: fields() };
}
