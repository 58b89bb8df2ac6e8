import { GwError } from '../../errors.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { modelsIn } from '../../wire/request/named-models.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import { withoutContextSize } from '../state/expand-alias.ts';

/** Checks what the key itself allows. Throws GwError 403 `model_forbidden` and 429 `key_rate_limited`. */
export function checkKey(
  { keyRates }: Pick<Gateway, 'keyRates'>,
  { caller, exchange }: { caller: Caller; exchange: Exchange },
  request: WireRequest,
): void {
  if (caller.models !== null) checkModel(caller.models, caller.keyId, exchange.request.method, request);
  if (caller.rpm === null) return;
  const waitMs = keyRates.take(caller.keyId, caller.rpm);
  if (waitMs > 0) throw rateLimited(caller.keyId, caller.rpm, waitMs);
}

/**
 * Refuses a request that lets a model answer which the key may not use: each that it names counts, and so does what
 * chooses one elsewhere. A request without a model may use any, as a batch does; only reading is free of that.
 */
function checkModel(
  models: readonly string[],
  keyId: number,
  method: string | undefined,
  request: WireRequest,
): void {
  const { model } = request;
  const named = request.named?.() ?? modelsIn(request.bytes, request.members);
  const isRead = model === '' && (method === 'GET' || method === 'HEAD');
  const other = named.names.find((name) => !isAllowed(models, name));
  const isModelAllowed = isRead || isAllowed(models, model);
  if (isModelAllowed && other === undefined && named.hidden === undefined) return;
  const what = !isModelAllowed
    ? quotedModel(model)
    : other === undefined
      ? `the field "${named.hidden}"`
      : `"${other}"`;
  throw new GwError(
    `key ${keyId} may use only ${models.join(', ')}, which rules out ${what}. To see keys: gw keys list`,
    { status: 403, type: 'permission_error', code: 'model_forbidden', param: named.hidden ?? 'model' },
  );
}

const quotedModel = (model: string): string =>
  model === '' ? 'a request that names no model' : `"${model}"`;

/** An entry allows the model with and without its provider in front; one that ends in `*`, all that begin alike. */
function isAllowed(models: readonly string[], asked: string): boolean {
  const plain = withoutContextSize(asked);
  const names = [asked, plain, plain.slice(plain.indexOf('/') + 1)];
  return models.some((entry) =>
    entry.endsWith('*') ? names.some((name) => name.startsWith(entry.slice(0, -1))) : names.includes(entry),
  );
}

function rateLimited(keyId: number, rpm: number, waitMs: number): GwError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new GwError(
    `key ${keyId} may make ${rpm} ${rpm === 1 ? 'request' : 'requests'} a minute. Try again in ${seconds} s`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'key_rate_limited',
      headers: { 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(waitMs)) },
    },
  );
}
