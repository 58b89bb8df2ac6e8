import { formatRequestId } from '../ids.ts';
import type { Provider, Registry } from '../providers/registry.ts';
import type { Key } from '../store/accounts/keys.ts';
import type { Project } from '../store/accounts/project.ts';
import type { DistrustedBound } from '../store/budgets/distrusted-bounds.ts';
import type { DistrustedBoundView, KeyView, ProjectView, ProvidersView } from './schemas.ts';

export function viewKey({ id, project, hint, admin, label, createdAt, revokedAt }: Key): KeyView {
  return {
    id,
    project_id: project,
    hint,
    admin,
    label,
    created_at: isoTime(createdAt),
    revoked_at: revokedAt === null ? null : isoTime(revokedAt),
  };
}

export function viewProject({ name, plan, createdAt, pausedAt }: Project): ProjectView {
  return {
    project_id: name,
    plan,
    created_at: isoTime(createdAt),
    paused_at: pausedAt === null ? null : isoTime(pausedAt),
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
