import { isObject } from '../../json/object.ts';
import { type Candidate, keyOf } from '../../routing/candidate.ts';
import { OWN_REASONING_MARK } from '../../translation/carry/envelope.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import { speaksNatively } from './translate.ts';

/** Why a request has to go to the account that answered before. */
export interface Affinity {
  /** It refers to a response that only one account stores, or returns reasoning that only one account can decrypt. */
  kind: 'stored_response' | 'encrypted_reasoning';
  /** The account that answered before; undefined when gw doesn't remember it. */
  boundTo: Candidate | undefined;
}

/** The affinity of a request. `last` is the target that served its conversation last. */
export function affinityOf(
  { router }: Pick<Gateway, 'router'>,
  context: RequestContext,
  last: Candidate | undefined,
): Affinity | undefined {
  const isResponse = context.wire === responsesWire;
  const id = isResponse ? storedIdOf(context) : undefined;
  if (id !== undefined) return { kind: 'stored_response', boundTo: router.responses.get(id)?.target };
  const isBound = isResponse || context.wire.form === 'messages' ? hasEncryptedReasoning(context) : false;
  return isBound ? { kind: 'encrypted_reasoning', boundTo: last } : undefined;
}

/**
 * The targets that an affinity allows. If nobody remembers the account, the candidates are tried in turn until one
 * knows the response. Translation drops encrypted reasoning, so translated requests may go to any target; Anthropic's
 * reasoning is valid for every account.
 */
export function targetsWithAffinity(
  gateway: Pick<Gateway, 'responsesSupport'>,
  { wire }: RequestContext,
  { targets, affinity: { kind, boundTo } }: { targets: readonly RoutedTarget[]; affinity: Affinity },
): readonly RoutedTarget[] {
  const isNative = ({ provider }: RoutedTarget) => speaksNatively(provider, wire, gateway);
  const isBoundTo = ({ candidate }: RoutedTarget) =>
    boundTo !== undefined && keyOf(candidate) === keyOf(boundTo);
  if (kind === 'stored_response')
    return targets.some(isBoundTo) ? targets.filter(isBoundTo) : targets.filter(isNative);
  if (wire !== responsesWire || !targets.some((target) => isBoundTo(target) && isNative(target)))
    return targets;
  return targets.filter((target) => isBoundTo(target) || !isNative(target));
}

/** The id of the stored response or conversation that a request continues. */
function storedIdOf({ request: { bytes, members } }: RequestContext): string | undefined {
  for (const { key, start, end } of members) {
    if (key !== 'previous_response_id' && key !== 'conversation') continue;
    // Invalid JSON inside the request is left for the provider to refuse.
    const value = parseObject(`{"id":${bytes.toString('utf8', start, end)}}`)?.id;
    const id = isObject(value) ? value.id : value;
    if (typeof id === 'string') return id;
  }
  return undefined;
}

const REASONING_KEYS = ['"encrypted_content"', '"signature"'].map((key) => Buffer.from(key));
const REDACTED = Buffer.from('"redacted_thinking"');
/** Redacted reasoning, and that of gw. */
const REDACTED_WORDS = /"redacted_thinking"|"data"\s*:\s*"gw1\.()/g;
const REASONING_VALUE = /^\s*:\s*"(.{0,4})/s;
/** Bytes that are searched for the value after its key. */
const MAX_VALUE_OFFSET = 32;

/** Whether the request returns encrypted reasoning of a provider; reasoning that gw made doesn't count. */
function hasEncryptedReasoning({ request: { bytes } }: RequestContext): boolean {
  if (bytes.indexOf(REDACTED) >= 0) {
    const words = [...bytes.toString('latin1').matchAll(REDACTED_WORDS)];
    const own = words.filter(([, isOwn]) => isOwn !== undefined).length;
    if (own < words.length - own) return true;
  }
  return REASONING_KEYS.some((key) => {
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
      const value = bytes.toString('latin1', at + key.length, at + key.length + MAX_VALUE_OFFSET);
      const reasoning = REASONING_VALUE.exec(value)?.[1];
      if (reasoning !== undefined && reasoning !== OWN_REASONING_MARK && !reasoning.startsWith('"'))
        return true;
    }
    return false;
  });
}
