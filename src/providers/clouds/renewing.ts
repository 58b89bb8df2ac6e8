import { messageOf } from '../../errors.ts';

/** A credential that expires. */
export interface Credential<T> {
  value: T;
  /** UTC milliseconds; undefined if unlimited. */
  expiresAt: number | undefined;
}

/** A credential, fetched on first use and renewed before it expires. */
export interface Renewing<T> {
  get(): Promise<T>;
  /** Fetches another one for the next `get`, unless this has already happened to the given one. */
  drop(value: T): void;
  expiresAt(): number | undefined;
}

/** Renewed so long before its end, while it still serves requests ... */
const EARLY_MS = 5 * 60_000;
/** ... and after a failure, so much later. */
const RETRY_MS = 30_000;

/**
 * Keeps a credential. `fetch` is called by one request at a time; all wait for it only if there is no valid credential.
 * `isForced`: the provider refused the last one, so caches must not return it. `explain` tells the user what to do.
 */
export function renewing<T>(
  fetch: (isForced: boolean) => Promise<Credential<T>>,
  explain: (reason: string) => string,
  now: () => number = Date.now,
): Renewing<T> {
  let current: Credential<T> | undefined;
  let running: Promise<T> | undefined;
  let isForced = false;
  let retryAt = 0;

  async function load(): Promise<T> {
    try {
      current = await fetch(isForced);
      isForced = false;
      return current.value;
    } catch (error) {
      retryAt = now() + RETRY_MS;
      throw new Error(explain(reasonOf(error)), { cause: error });
    } finally {
      running = undefined;
    }
  }

  const renew = (): Promise<T> => {
    running ??= load();
    return running;
  };

  return {
    async get() {
      const leftMs = current ? (current.expiresAt ?? Infinity) - now() : 0;
      if (!current || leftMs <= 0) return renew();
      // Its failure is that of the request which finds the credential expired.
      if (leftMs < EARLY_MS && now() >= retryAt) renew().catch(() => {});
      return current.value;
    },
    drop(value) {
      if (current?.value !== value) return;
      current = undefined;
      isForced = true;
    },
    expiresAt: () => current?.expiresAt,
  };
}

function reasonOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').replace(/\.$/, '').slice(0, 300);
}

/** Loads packages that the user installs beside gw. The error for missing ones names the command. */
export async function loadPackages<T>(load: () => Promise<T>, names: string): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`packages that gw does not contain are missing. Run: npm install -g ${names}`, {
      cause: error,
    });
  }
}
