import { GwError } from '../../../errors.ts';
import type { Admission, AdmissionResult } from '../../../store/ledger/admission.ts';
import type { AskResult } from '../../../store/ledger/asks/asking.ts';
import { PROJECT_PAUSED, pausedMessage } from '../../context/accounts.ts';
import type { Gateway } from '../../context/gateway.ts';
import type { AnyRequestContext } from '../../context/request-context.ts';
import { ClientGone } from '../../intake/client-gone.ts';
import { clientName } from './ask-terms.ts';

export type AskParts = Pick<Gateway, 'approvals' | 'authenticator' | 'clock' | 'ledger' | 'settings'>;

export type AnsweredResult = Exclude<AdmissionResult, AskResult>;

/**
 * Admits a request. Where a budget asks its owner, waits for the answer: nothing is sent to the client meanwhile.
 * Throws ClientGone, and GwError if the project is paused or the key revoked while the request waits.
 */
export async function admitOrAsk(
  gateway: AskParts,
  { context, admission }: { context: AnyRequestContext; admission: Admission },
  admit: () => Promise<AdmissionResult>,
): Promise<AnsweredResult> {
  const first = await admit();
  if (first.kind !== 'ask') return answered(gateway, context, first);
  const leave = gateway.approvals.join();
  try {
    for (;;) {
      await gateway.approvals.nextLook();
      mustBeThere(gateway, context);
      const seen = await gateway.ledger.look(admission);
      const result = seen.kind === 'wait' ? await admit() : seen;
      if (result.kind !== 'ask') return answered(gateway, context, result);
    }
  } finally {
    leave();
    // If it can't be written, the question ends at its time. The request may hold money by now, so it goes on.
    await gateway.ledger.endAsk(admission.id).catch(() => {});
  }
}

function mustBeThere(gateway: Pick<AskParts, 'approvals' | 'clock'>, context: AnyRequestContext): void {
  const { exchange } = context;
  if (!exchange.gone) return;
  gateway.approvals.noteGone(clientName(context), gateway.clock.monotonic() - exchange.startedAt);
  throw new ClientGone();
}

function answered(
  { authenticator }: Pick<AskParts, 'authenticator'>,
  { exchange, project }: AnyRequestContext,
  result: Exclude<AdmissionResult, { kind: 'ask' }>,
): AnsweredResult {
  if (result.kind !== 'shut') return result;
  authenticator.forget();
  // Throws if it was the key that was revoked.
  authenticator.authenticate(exchange.request.headers);
  throw new GwError(pausedMessage(project), PROJECT_PAUSED);
}
