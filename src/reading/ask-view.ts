import { formatAskId, formatRequestId } from '../ids.ts';
import { usdNumber } from '../money.ts';
import type { Ask } from '../store/budgets/asks.ts';
import type { AskView } from './ask-schema.ts';

export function viewAsk({
  requestId,
  projectName,
  budget,
  model,
  agent,
  needed,
  state,
  ...ask
}: Ask): AskView {
  return {
    object: 'ask',
    id: formatAskId(requestId),
    request_id: formatRequestId(requestId),
    project_id: projectName,
    budget_id: budget,
    model,
    agent: agent || null,
    needed_usd: usdNumber(needed),
    needed_nano_usd: needed,
    created_at: new Date(ask.createdAt).toISOString(),
    expires_at: new Date(ask.expiresAt).toISOString(),
    state,
  };
}
