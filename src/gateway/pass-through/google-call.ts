import { applyEdits, type Edit, moved, removeMember, replaceValue } from '../../json/edit.ts';
import { scanObject } from '../../json/scan.ts';
import { innerRequest } from '../../providers/gemini-count.ts';
import { withCall } from '../../wire/request/gemini-body.ts';
import type { LooseRequest } from '../../wire/request/lenient.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { endpointClosed } from './path-access.ts';

/** A call of Gemini's API as its path says it: https://ai.google.dev/api. Both are empty for a path that names no model. */
export interface GoogleCall {
  model: string;
  /** What is asked of the model, such as `countTokens`. */
  method: string;
}

/** A path by which gw knows a call, whatever its model: `/models:countTokens` for `/models/gemini-3-pro:countTokens`. */
export const knownPath = ({ model, method }: GoogleCall, path: string): string =>
  model === '' ? path : OF_MODEL + method;

export const OF_MODEL = '/models:';
export const COUNT_GOOGLE = `${OF_MODEL}countTokens`;

export const pathAt = ({ method }: GoogleCall, model: string): string =>
  `/models/${encodeURIComponent(model)}:${method}`;

/** The edits that give the model within a request to count the provider's name. */
export function innerModel({ bytes, members }: LooseRequest, model: string): Edit[] {
  const inner = innerRequest(bytes, members);
  const name = inner && scanObject(inner.text).find(({ key }) => key === 'model');
  return name ? [moved(replaceValue(name, JSON.stringify(`models/${model}`)), inner.start)] : [];
}

/** The request to count: the one in the body, or the body itself. */
export function countedRequest({ bytes, members, model }: LooseRequest): Buffer {
  const text = innerRequest(bytes, members)?.text ?? bytes;
  const own = bytes === text ? undefined : scanObject(text);
  const name = own?.find(({ key }) => key === 'model');
  const body = own && name ? applyEdits(text, [removeMember(own, name)]) : text;
  return withCall(body, { model, isStream: false });
}

/**
 * Throws GwError 403 for what Google stores by a key that several projects share: gw doesn't know who has made which file,
 * cache or batch.
 */
export function refuseStored(
  { objects }: Pick<Gateway, 'objects'>,
  { caller }: Pick<AnyRequestContext, 'caller'>,
  path: string,
): void {
  if (path === COUNT_GOOGLE || /^\/models(?:\/|$)/.test(path) || caller.admin || !objects.shared()) return;
  throw endpointClosed(
    `${path.slice(1)} is about what Google stores for all projects of its key, and gw does not know whose it is. Use an admin key`,
  );
}
