import type { RawHeaders } from '../../raw-headers.ts';
import type { Failure } from '../../routing/failure.ts';
import type { PassThroughWire, Wire } from '../../wire/wire.ts';
import type { AdmittedRequest } from '../admission/admitted.ts';
import type { Relay } from '../answer/relay.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import type { Metered } from '../metering/metered.ts';
import type { ObjectNotes } from '../objects/object-notes.ts';
import type { ReasoningTap } from '../routing/mended-calls.ts';
import type { Route } from '../routing/route.ts';
import type { CallEnd } from '../upstream/send.ts';

/** One call of one target, with the hold that pays for it. */
export type Attempt = RoutedAttempt | DirectAttempt;

/** An attempt of a completion, which may fail over to the other targets of its route. */
export interface RoutedAttempt extends AdmittedRequest {
  /** Why this target, for the header `x-service-route`. */
  why: string;
  route: Route;
}

/** The attempt of a request that is passed on as it is, to one target. */
export interface DirectAttempt extends AdmittedRequest<Wire | PassThroughWire> {
  why: string;
  route?: undefined;
  /** The answer names an object of another project, or of nobody. */
  namesForeign?: boolean;
  /** The client's own login that it goes out with, as a hash. */
  login?: string;
  /** Reads the headers of the answer as they come. */
  onHead?: (headers: RawHeaders) => void;
  /** Reads the bytes of the answer as they come. */
  onBody?: ((bytes: Buffer) => void) | undefined;
  /** Changes a gathered answer for the client. */
  editAnswer?: ((body: Buffer) => Buffer) | undefined;
}

/** Whether another target may answer if this one fails. */
export function hasAlternatives(route: Route | undefined): route is Route {
  return route !== undefined && route.targets.length > 1;
}

/** The result of an attempt. */
export interface AttemptResult {
  relay: Relay;
  /** gw's own headers, which can change until the answer's head goes out. */
  headers: ServiceHeaders;
  /** Monotonic milliseconds. */
  sentAt: number;
  end: CallEnd;
  /** Undefined after a success. */
  failure: Failure | undefined;
  /** The provider's id of the answer, such as `msg_...`; empty if it has none. */
  upstreamMessageId: string;
  /** The provider's id of the request, from its headers; empty if it sent none. */
  upstreamRequestId: string;
  /** Undefined while there is one project, and where the answer makes nothing. */
  objects: ObjectNotes | undefined;
  /** Undefined where the provider wants no reasoning back, or its answer is translated. */
  tap: ReasoningTap | undefined;
  /** Undefined until the attempt is metered. */
  metered?: Metered;
}
