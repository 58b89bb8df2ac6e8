import { badRequest } from '../../errors.ts';
import { formatAskId, formatRequestId } from '../../ids.ts';
import { usdFields } from '../../money.ts';
import * as store from '../../store/budgets/asks.ts';
import { nanoUsdOf } from '../budget-scope.ts';
import type { Id, Input } from '../operation.ts';
import type * as described from '../schemas/asks.ts';
import { projectToRead, type Sources } from '../sources.ts';

export async function asks(
  { db, scope, now }: Sources,
  { project_id }: Input<typeof described.asks>,
): Promise<described.AskView[]> {
  return store.listAsks(db, { projectId: projectToRead(db, scope, project_id), now: now() }).map(viewAsk);
}

/** Lets a request that waits go on. Throws GwError 404 for an unknown id, and 409 if it waits no more. */
export async function approveAsk(
  { db, calendar, change, now }: Sources,
  { id, once, raise_usd }: Id & Input<typeof described.approveAsk>,
): Promise<described.AskView> {
  if (once === true && raise_usd !== undefined)
    throw badRequest('give "once" or "raise_usd", not both', 'once');
  const raiseNanoUsd = raise_usd === undefined ? undefined : nanoUsdOf(raise_usd, 'raise_usd');
  return change(async () =>
    viewAsk(await store.approveAsk(db, { id, raiseNanoUsd }, { calendar, now: now() })),
  );
}

export function denyAsk({ db, change, now }: Sources, { id }: Id): Promise<described.AskView> {
  return change(async () => viewAsk(await store.denyAsk(db, id, now())));
}

export function viewAsk(ask: store.Ask): described.AskView {
  const { requestId, projectName, budget, model, agent, needed, state } = ask;
  return {
    object: 'ask',
    id: formatAskId(requestId),
    request_id: formatRequestId(requestId),
    project_id: projectName,
    budget_id: budget,
    model,
    agent: agent || null,
    session: ask.session || null,
    runaway: ask.runaway || null,
    ...usdFields('needed', needed),
    created_at: new Date(ask.createdAt).toISOString(),
    expires_at: new Date(ask.expiresAt).toISOString(),
    state,
  };
}
