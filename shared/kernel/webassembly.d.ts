/** The part of WebAssembly that is used: Node has it, its types are those of browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(code: Uint8Array);
    static imports(module: Module): readonly { readonly module: string; readonly name: string }[];
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module, imports?: object);
  }
  /** Thrown where code traps. */
  class RuntimeError extends Error {}
  class Memory {
    /** Another one after the memory has grown: views of the one before are empty then. */
    readonly buffer: ArrayBuffer;
  }
}
