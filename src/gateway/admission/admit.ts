import type { Calendar } from '../../calendar.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/ledger.ts';
import type { Gateway } from '../context/gateway.ts';
import { type Job, lineOf } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { MAX_SEARCH_MS } from '../intake/claim-repository.ts';
import { ClientGone } from '../intake/client-gone.ts';
import type { Target } from '../state/resolve.ts';
import type { Admitted } from './admitted.ts';
import { blockedStatus, budgetBusy, inClientsWay } from './errors.ts';
import type { Limited } from './fit.ts';
import { admittedAs, limiting } from './fit.ts';
import { exactInput, inputBound, isCountable } from './input-tokens.ts';
import type { Quote } from './quote.ts';
import { quoter } from './quote-request.ts';
import type { Asking } from './refuse.ts';
import { exceeded, unpricedError } from './refuse.ts';

/**
 * Holds the worst-case cost in every budget of the project. The cheap bound of the input is tried first, the exact
 * count only where that has no room. Throws GwError 402 or 429 where there is none, and ClientGone.
 */
export async function admit(
  gateway: Gateway,
  job: Job,
  target: Target,
  calendar: Calendar,
): Promise<Admitted> {
  const asking = { job, target, calendar };
  const quoteFor = quoter(gateway, job, target);
  const cheap = limiting(gateway, quoteFor(inputBound(job, target)));
  const first = await reserve(gateway, asking, cheap, !isCountable(job, target));
  const admitted = outcomeOf(gateway, asking, cheap, first);
  if (admitted) return admitted;
  const exact = await exactInput(gateway, job, target, cheap.quote.inputTokens);
  const second = await hold(gateway, asking, quoteFor(exact), true);
  if (!second) throw new Error('a final admission was not decided');
  return second;
}

/** One admission with the ledger; undefined where the bound was too loose to decide. */
export async function hold(
  gateway: Gateway,
  asking: Asking,
  quoted: Quote,
  final: boolean,
): Promise<Admitted | undefined> {
  const limited = limiting(gateway, quoted);
  return outcomeOf(gateway, asking, limited, await reserve(gateway, asking, limited, final));
}

/** Asks the ledger, once it is known where the request comes from, if that matters. */
function reserve(
  gateway: Gateway,
  asking: Asking,
  limited: Limited,
  final: boolean,
): Promise<AdmissionResult> {
  const { origin, project, exchange } = asking.job;
  const reserveNow = () =>
    gateway.queue.admit(admissionOf(gateway, asking, limited, final), {
      maxWaitMs: gateway.settings()['admission.max_wait_ms'],
      wanted: () => !exchange.gone,
    });
  const matters = origin.search && gateway.repoBudgets().has(project.id);
  return matters ? gateway.attribution.searched(origin, MAX_SEARCH_MS).then(reserveNow) : reserveNow();
}

function admissionOf(
  gateway: Gateway,
  { job, target }: Asking,
  { quote: quoted, fit }: Limited,
  final: boolean,
): Admission {
  const { exchange, asked } = job;
  return {
    id: exchange.id,
    projectId: job.project.id,
    line: lineOf(job, gateway.repoBudgets()),
    origin: job.origin,
    keyId: job.caller.keyId,
    endpoint: job.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: asked.model,
    stream: asked.stream,
    amount: quoted.amount,
    least: quoted.least,
    unpriced: quoted.unpriced,
    final,
    fit,
    blockedRecord() {
      const ending = { status: blockedStatus(exchange.request.headers), outcome: 'blocked' } as const;
      return recordOf(job, target, ending, gateway.clock.monotonic());
    },
  };
}

function outcomeOf(
  gateway: Gateway,
  asking: Asking,
  limited: Limited,
  result: AdmissionResult,
): Admitted | undefined {
  const { job } = asking;
  switch (result.kind) {
    case 'held':
      if (job.tier) gateway.tiers.admitted(job.project.id, result.spentOfCap);
      return admittedAs(job, result, limited);
    case 'tight':
      if (job.exchange.gone) throw new ClientGone();
      return undefined;
    case 'unpriced':
      throw inClientsWay(unpricedError(asking, limited.quote, result.standing), job.exchange.request.headers);
    case 'blocked':
      throw exceeded(asking, result.standing, limited.quote.least);
    case 'wait':
      if (job.exchange.gone) throw new ClientGone();
      throw budgetBusy(result.standing);
  }
}
