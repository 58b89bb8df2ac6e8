import { FLAGS } from '../../store/ledger/record.ts';
import { lastTurn } from '../../wire/request/last-turn.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { type AnyRequestContext, sessionKeyOf } from '../context/request-context.ts';

/** Looks whether the session of an answered request runs away. A login's requests cost no money. */
export function watchSession(
  { runaways, clock }: Pick<Gateway, 'clock' | 'runaways'>,
  context: AnyRequestContext,
  { outcome, usage, flags, costNanoUsd }: Settlement,
): void {
  if (context.session.sessionId === '' || outcome !== 'ok') return;
  const turn = lastTurn(context.request);
  if (!turn) return;
  const cost = flags & FLAGS.not_billed ? 0 : costNanoUsd;
  const tookMs = clock.monotonic() - context.exchange.startedAt;
  runaways.note(
    sessionKeyOf(context),
    { ...turn, inputTokens: usage.inputTokens, costNanoUsd: cost },
    tookMs,
  );
}
