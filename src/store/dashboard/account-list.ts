import type { Db } from '../database/open.ts';

export interface ProjectState {
  id: number;
  name: string;
  paused: boolean;
}

/** A key that is not revoked, without its secret. */
export interface LiveKey {
  id: number;
  project: string;
  hint: string;
  label: string | null;
  admin: boolean;
}

/** Reads the projects, ordered by name, and their keys, oldest first. */
export function createAccountReader(db: Db): () => { projects: ProjectState[]; keys: LiveKey[] } {
  const selectProjects = db.prepare<[], { id: number; name: string; paused: number }>(
    'SELECT id, name, paused_at IS NOT NULL AS paused FROM projects WHERE removed_at IS NULL ORDER BY name',
  );
  const selectKeys = db.prepare<[], Omit<LiveKey, 'admin'> & { admin: number }>(
    `SELECT k.id, p.name AS project, k.hint, k.label, k.admin FROM keys k JOIN projects p ON p.id = k.project_id
     WHERE k.revoked_at IS NULL AND p.removed_at IS NULL ORDER BY k.id`,
  );
  return () => ({
    projects: selectProjects.all().map((project) => ({ ...project, paused: project.paused === 1 })),
    keys: selectKeys.all().map((key) => ({ ...key, admin: key.admin === 1 })),
  });
}
