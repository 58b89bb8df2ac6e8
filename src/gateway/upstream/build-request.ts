import { applyEdits, type Edit } from '../../json/edit.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Sending } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';
import { pinTier } from './default-service-tier.ts';
import { upstreamHeaders } from './headers.ts';
import { capPrice } from './openrouter-max-price.ts';
import type { Outgoing } from './send.ts';
import { withoutOwnThoughts } from './strip-own-reasoning.ts';

/** A request as its provider gets it. */
export function outgoingOf(gateway: Gateway, sending: Sending): Outgoing {
  const { job, target } = sending;
  const { provider } = target;
  return {
    path: provider.basePath + job.wire.path + (job.translator ? '' : queryOf(job.exchange.request.url ?? '')),
    headers: upstreamHeaders(job.exchange.request.rawHeaders, provider, job.translator !== undefined),
    body: applyEdits(job.asked.bytes, editsFor(gateway, sending)),
  };
}

/** The query as the client wrote it, `?` included. */
export function queryOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
}

/** All that is changed in the client's bytes. */
function editsFor(gateway: Gateway, sending: Sending): Edit[] {
  const { job, target, admitted } = sending;
  const { wire, asked } = job;
  const edits = [...asked.edits, ...withoutOwnThoughts(job)];
  if (target.model !== asked.model) edits.push(wire.renameModel(asked, target.model));
  if (admitted.limit !== undefined) {
    edits.push(...wire.limitOutput(asked, admitted.limit, target.provider.outputLimit));
  } else if (admitted.remaining !== null && Object.hasOwn(PRESETS, target.provider.name)) {
    edits.push(...(wire.nameLimit?.(asked, target.provider.outputLimit) ?? []));
  }
  if (admitted.calls !== undefined) edits.push(...(wire.limitCalls?.(asked, admitted.calls) ?? []));
  if (gateway.settings()['admission.service_tier'] === 'default')
    edits.push(...pinTier(job, target, admitted));
  if (gateway.settings()['admission.host_price'] === 'listed') edits.push(...capPrice(sending));
  return edits;
}
