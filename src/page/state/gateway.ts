import { createContext, useContext } from 'preact/compat';
import type { WhoamiView } from '../../operations/schemas/dashboard.ts';
import { createTimeFormat, type TimeFormat } from '../../terminal/time.ts';

/** The gw that serves the page, and what the session may do there. */
export interface GatewayFacts {
  whoami: WhoamiView;
  times: TimeFormat;
  /** How far this machine's clock is behind gw's. */
  offsetMs: number;
}

export function factsOfGateway(whoami: WhoamiView): GatewayFacts {
  const { timezone, now } = whoami;
  return { whoami, times: createTimeFormat(timezone), offsetMs: Date.parse(now) - Date.now() };
}

export const Gateway = createContext<GatewayFacts | undefined>(undefined);

export function useGateway(): GatewayFacts & { now: number; today: string; isAdmin: boolean } {
  const facts = useContext(Gateway);
  if (!facts) throw new Error('views are shown to whoever has signed in');
  const now = Date.now() + facts.offsetMs;
  const today = facts.times.dateTime(now).slice(0, 10);
  return { ...facts, now, today, isAdmin: facts.whoami.key.admin };
}
