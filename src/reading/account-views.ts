import { formatRequestId } from '../ids.ts';
import { usdNumber } from '../money.ts';
import type { Provider, Registry } from '../providers/registry.ts';
import type { Key, KeyUsage } from '../store/accounts/keys.ts';
import type { Project } from '../store/accounts/projects.ts';
import type { DistrustedBound } from '../store/budgets/distrusted-bounds.ts';
import type { DistrustedBoundView, KeyView, ProjectView, ProvidersView } from './schemas.ts';

const UNUSED: KeyUsage = { lastUsedAt: null, spentNanoUsd: 0 };

export function viewKey(key: Key, usage: KeyUsage = UNUSED): KeyView {
  const { id, project, hint, admin, label, models, rpm } = key;
  return {
    id,
    project_id: project,
    hint,
    admin,
    label,
    created_at: isoTime(key.createdAt),
    revoked_at: orNull(key.revokedAt),
    expires_at: orNull(key.expiresAt),
    models,
    rpm,
    last_used_at: orNull(usage.lastUsedAt),
    spent_usd: usdNumber(usage.spentNanoUsd),
    spent_nano_usd: usage.spentNanoUsd,
    team: key.teamKeyId !== null,
    previous_key_expires_at: orNull(key.oldUntil),
  };
}

export function viewProject({ name, plan, createdAt, pausedAt }: Project): ProjectView {
  return {
    project_id: name,
    plan,
    created_at: isoTime(createdAt),
    paused_at: orNull(pausedAt),
  };
}

/** The providers without the built-in sandbox, which has no address of its own. */
export function viewProviders({ providers, problems }: Registry): ProvidersView {
  const own = [...providers.values()].filter(({ source }) => source !== 'built-in');
  return { providers: own.map(viewProvider), problems };
}

function viewProvider({ name, origin, basePath, wire, keySource, source }: Provider) {
  return { name, base_url: origin + basePath, wire, key_source: keySource, source };
}

export function viewBound({ provider, model, bound, at, requestId }: DistrustedBound): DistrustedBoundView {
  return { provider, model, bound, at: isoTime(at), request_id: formatRequestId(requestId) };
}

const isoTime = (timeMs: number) => new Date(timeMs).toISOString();
const orNull = (timeMs: number | null) => (timeMs === null ? null : isoTime(timeMs));
