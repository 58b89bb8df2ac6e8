/** The half of the session that the page sends as a header: see server/page/sessions.ts. */
const STORED = 'gw-session';
const IN_FRAGMENT = /^#session=([\w-]+)$/;

const listeners = new Set<() => void>();

/** Takes the secret out of the address that a link has led to. */
export function takeSession(): void {
  const secret = IN_FRAGMENT.exec(location.hash)?.[1];
  if (secret === undefined) return;
  localStorage.setItem(STORED, secret);
  history.replaceState(null, '', '/#/');
}

/** Undefined if nobody has signed in. */
export const sessionSecret = (): string | undefined => localStorage.getItem(STORED) ?? undefined;

export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function keep(secret: string | undefined): void {
  if (secret === undefined) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, secret);
  for (const listener of listeners) listener();
}

/** Forgets a session that has ended. */
export const dropSession = () => keep(undefined);

/** Opens a session with the rights of a key. Resolves to what is wrong, if anything. */
export async function signIn(key: string): Promise<string | undefined> {
  const body = JSON.stringify({ key });
  const answer = await fetch('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { session, error } = (await answer.json()) as { session?: string; error?: { message: string } };
  if (session === undefined) return error?.message ?? `gw answered HTTP ${answer.status}`;
  history.replaceState(null, '', `/${location.hash}`);
  keep(session);
  return undefined;
}

export async function signOut(): Promise<void> {
  await fetch('/logout', { method: 'POST', headers: sessionHeaders() }).catch(() => undefined);
  dropSession();
}

export const sessionHeaders = (): Record<string, string> => ({ 'x-gw-page': sessionSecret() ?? '' });
