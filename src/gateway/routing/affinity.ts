import { isObject } from '../../json/object.ts';
import { type Candidate, keyOf } from '../../routing/candidate.ts';
import { OWN_REASONING_MARK } from '../../translation/own-reasoning-mark.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import { speaksNatively } from './translate.ts';

/** What ties a request to the account that answered before. */
export interface Affinity {
  /** `stored`: nobody else has what it points at. `sealed`: it gives reasoning back that others cannot open. */
  kind: 'stored_response' | 'encrypted_reasoning';
  /** Who answered before, where that is remembered. */
  boundTo: Candidate | undefined;
}

/** The bond of a request; `last` is where its conversation was served last. */
export function affinityOf(
  { router }: Gateway,
  context: RequestContext,
  last: Candidate | undefined,
): Affinity | undefined {
  const isResponse = context.wire === responsesWire;
  const id = isResponse ? storedIdOf(context) : undefined;
  if (id !== undefined) return { kind: 'stored_response', boundTo: router.responses.get(id)?.target };
  const isSealed = isResponse || context.wire.form === 'messages' ? hasEncryptedReasoning(context) : false;
  return isSealed ? { kind: 'encrypted_reasoning', boundTo: last } : undefined;
}

/**
 * The targets that a bond leaves. Where nobody remembers who answered before, one after the other is asked, as each
 * says that it is not the one. A translation leaves sealed reasoning out, so it may go to any; and Anthropic's seals
 * are good with every account.
 */
export function targetsWithAffinity(
  gateway: Gateway,
  { wire }: RequestContext,
  { targets, affinity: { kind, boundTo } }: { targets: readonly RoutedTarget[]; affinity: Affinity },
): readonly RoutedTarget[] {
  const isNative = ({ provider }: RoutedTarget) => speaksNatively(provider, wire, gateway);
  const isHome = ({ candidate }: RoutedTarget) =>
    boundTo !== undefined && keyOf(candidate) === keyOf(boundTo);
  if (kind === 'stored_response')
    return targets.some(isHome) ? targets.filter(isHome) : targets.filter(isNative);
  if (wire !== responsesWire || !targets.some((target) => isHome(target) && isNative(target))) return targets;
  return targets.filter((target) => isHome(target) || !isNative(target));
}

/** The response or the conversation that a request goes on from. */
function storedIdOf({ request: { bytes, members } }: RequestContext): string | undefined {
  for (const { key, start, end } of members) {
    if (key !== 'previous_response_id' && key !== 'conversation') continue;
    // What is no JSON inside is the provider's to judge.
    const value = parseObject(`{"id":${bytes.toString('utf8', start, end)}}`)?.id;
    const id = isObject(value) ? value.id : value;
    if (typeof id === 'string') return id;
  }
  return undefined;
}

const REASONING_KEYS = ['"encrypted_content"', '"signature"'].map((key) => Buffer.from(key));
const REDACTED = Buffer.from('"redacted_thinking"');
const REASONING_VALUE = /^\s*:\s*"(.{0,4})/s;
/** Beyond this nobody puts a value. */
const MAX_SPACE = 32;

/** Whether there is reasoning that a provider sealed; that of gw itself does not count. */
function hasEncryptedReasoning({ request: { bytes } }: RequestContext): boolean {
  if (bytes.indexOf(REDACTED) >= 0) return true;
  return REASONING_KEYS.some((key) => {
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
      const value = bytes.toString('latin1', at + key.length, at + key.length + MAX_SPACE);
      const reasoning = REASONING_VALUE.exec(value)?.[1];
      if (reasoning !== undefined && reasoning !== OWN_REASONING_MARK && !reasoning.startsWith('"'))
        return true;
    }
    return false;
  });
}
