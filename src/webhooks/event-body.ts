/** An event, independent of the format in which it is sent. */
export interface WebhookEvent {
  id: string;
  type: string;
  /** UTC milliseconds. */
  createdAt: number;
  /** '' for the whole team. */
  project: string;
  /** JSON. */
  data: string;
}

/** The body of a delivery in the format `json`: the same bytes on every attempt. */
export function eventBody(event: WebhookEvent): string {
  const head = JSON.stringify({
    id: event.id,
    type: event.type,
    timestamp: new Date(event.createdAt).toISOString(),
    project_id: event.project || null,
  });
  // The data is stored as JSON; parsing and serializing it again could change it.
  return `${head.slice(0, -1)},"data":${event.data}}`;
}
