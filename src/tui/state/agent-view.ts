/** An agent whose settings point at gw. */
export interface AgentView {
  name: string;
  /** Requests in its log that did not come through gw. */
  bypassed: number;
}
