import { badRequest, type GwError } from '../../errors.ts';
import { JsonSyntaxError } from '../../json/scan.ts';
import {
  findMisleadingKey,
  MAX_KEYS,
  type MisleadingKey,
  mayMislead,
} from '../../wire/request/scan/misleading-key.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';

/**
 * Refuses a body that servers read in different ways: with a key that stands twice, or that some decoders take for another
 * one, or of JSON that gw can't read and a lenient parser may. Binds where a budget, a key's models or another project is
 * at stake. Throws GwError 400.
 */
export function checkBody(
  { objects, hasBudgets }: Pick<Gateway, 'objects' | 'hasBudgets'>,
  { caller, request }: Pick<RequestContext, 'caller' | 'request'>,
): void {
  if (!request.isBroken && !mayMislead(request)) return;
  if (caller.models === null && !objects.shared() && !hasBudgets()) return;
  if (request.isBroken) throw notJson();
  try {
    const key = findMisleadingKey(request.bytes);
    if (key) throw misleading(key);
  } catch (error) {
    throw error instanceof JsonSyntaxError ? notJson() : error;
  }
}

const notJson = (): GwError =>
  badRequest('the body is not JSON, which its content type announces', undefined, 'invalid_json');

function misleading({ path, name }: MisleadingKey): GwError {
  if (path === '')
    return badRequest(
      `an object in the body seems to have a key twice, and gw compares no more than ${MAX_KEYS} keys: remove one of the two`,
      undefined,
      'duplicate_parameter',
    );
  return name === undefined
    ? badRequest(`"${path}" appears twice in the body: remove one`, path, 'duplicate_parameter')
    : badRequest(`"${path}" could be read as "${name}": write "${name}"`, path, 'ambiguous_parameter');
}
