import { isObject } from '../../json/object.ts';
import { type Candidate, keyOf } from '../../routing/candidate.ts';
import { OWN_THOUGHTS } from '../../translation/own-reasoning-mark.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import { speaks } from './translate.ts';

/** What ties a request to the account that answered before. */
export interface Bond {
  /** `stored`: nobody else has what it points at. `sealed`: it gives reasoning back that others cannot open. */
  kind: 'stored' | 'sealed';
  /** Who answered before, where that is remembered. */
  home: Candidate | undefined;
}

/** The bond of a request; `last` is where its conversation was served last. */
export function bondOf({ router }: Gateway, job: Job, last: Candidate | undefined): Bond | undefined {
  const isResponse = job.wire === responsesWire;
  const id = isResponse ? storedIdOf(job) : undefined;
  if (id !== undefined) return { kind: 'stored', home: router.responses.get(id)?.target };
  const isSealed = isResponse || job.wire.form === 'messages' ? hasSeals(job) : false;
  return isSealed ? { kind: 'sealed', home: last } : undefined;
}

/**
 * The targets that a bond leaves. Where nobody remembers who answered before, one after the other is asked, as each
 * says that it is not the one. A translation leaves sealed reasoning out, so it may go to any; and Anthropic's seals
 * are good with every account.
 */
export function withinBond(
  gateway: Gateway,
  { wire }: Job,
  { targets, bond: { kind, home } }: { targets: readonly RoutedTarget[]; bond: Bond },
): readonly RoutedTarget[] {
  const isNative = ({ provider }: RoutedTarget) => speaks(provider, wire, gateway);
  const isHome = ({ candidate }: RoutedTarget) => home !== undefined && keyOf(candidate) === keyOf(home);
  if (kind === 'stored') return targets.some(isHome) ? targets.filter(isHome) : targets.filter(isNative);
  if (wire !== responsesWire || !targets.some((target) => isHome(target) && isNative(target))) return targets;
  return targets.filter((target) => isHome(target) || !isNative(target));
}

/** The response or the conversation that a request goes on from. */
function storedIdOf({ asked: { bytes, members } }: Job): string | undefined {
  for (const { key, start, end } of members) {
    if (key !== 'previous_response_id' && key !== 'conversation') continue;
    // What is no JSON inside is the provider's to judge.
    const value = parseObject(`{"id":${bytes.toString('utf8', start, end)}}`)?.id;
    const id = isObject(value) ? value.id : value;
    if (typeof id === 'string') return id;
  }
  return undefined;
}

const SEALS = ['"encrypted_content"', '"signature"'].map((key) => Buffer.from(key));
const REDACTED = Buffer.from('"redacted_thinking"');
const SEAL = /^\s*:\s*"(.{0,4})/s;
/** Beyond this nobody puts a value. */
const MAX_SPACE = 32;

/** Whether there is reasoning that a provider sealed; that of gw itself does not count. */
function hasSeals({ asked: { bytes } }: Job): boolean {
  if (bytes.indexOf(REDACTED) >= 0) return true;
  return SEALS.some((key) => {
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
      const value = bytes.toString('latin1', at + key.length, at + key.length + MAX_SPACE);
      const seal = SEAL.exec(value)?.[1];
      if (seal !== undefined && seal !== OWN_THOUGHTS && !seal.startsWith('"')) return true;
    }
    return false;
  });
}
