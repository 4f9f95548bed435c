# What runs a command line of ruby: the module is a library, which has none.
module CodeRunner
  class Usage < StandardError; end

  @at_exit = []

  class << self
    # Returns what the program leaves, as JSON.
    def left
      texts = { **(@report || {}), **(@value ? { value: @value } : {}) }.map { |k, v| %("#{k}":#{v.is_a?(Integer) ? v : quoted(v)}) }
      texts.push(%("variables":[#{variables.map { |n, t| %({"name":#{quoted(n)},"type":#{quoted(t)}}) }.join(",")}])) if @session
      @report = @value = nil
      "{#{texts.join(",")}}"
    end

    # Returns the names and the classes of what a session goes on with.
    def variables
      top, globals = TOPLEVEL_BINDING, global_variables - @begun[:globals]
      top.local_variables.reject { |n| n.start_with?("_") }.map { |n| [n.to_s, top.local_variable_get(n).class.to_s] } +
        globals.map { |n| [n.to_s, eval(n.to_s).class.to_s] } +
        (Object.private_instance_methods(false) - @begun[:methods]).map { |n| [n.to_s, "method"] } +
        (Object.constants - @begun[:constants]).map { |n| [n.to_s, Object.autoload?(n) ? "Class" : Object.const_get(n).class.to_s] }
    end

    def begun = @begun = { globals: global_variables, methods: Object.private_instance_methods(false), constants: Object.constants }

    # Returns a string of JSON, without its library, which would have to be loaded.
    def quoted(text)
      %("#{text.encode("UTF-8", invalid: :replace, undef: :replace).scrub.gsub(/["\\\x00-\x1f]/) { |c| format("\\u%04x", c.ord) }}")
    end

    def later(block) = @at_exit.push(block)

    def main(dir, args, env)
      ENV.replace(env.to_h { |s| s.split("=", 2) })
      Random.srand
      Dir.chdir(dir)
      options(args)
      status = guarded { program }
      while (block = @at_exit.pop)
        ended = guarded { block.call }
        status = ended unless ended.nil?
      end
      $stdout.flush
      $stderr.flush
      status || 0
    rescue Usage => e
      $stderr.puts "ruby: #{e.message}"
      2
    end

    # Runs a block and returns the exit status that its end asks for, nil for none.
    def guarded
      yield
      nil
    rescue SystemExit => e
      e.status
    rescue Usage
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException
      failed(e)
      1
    end

    def failed(error)
      clean(error)
      $stdout.flush
      $stderr.write(error.full_message(highlight: false, order: :top))
      place = (error.backtrace || []).find { |l| l.start_with?("#{@name}:") }
      line = place && place[/:(\d+)/, 1].to_i
      line ||= error.message[/\A#{Regexp.escape(@name.to_s)}:(\d+):/, 1]&.to_i if error.is_a?(SyntaxError)
      @report = { type: error.class.name, message: error.message.to_s.scrub, line: line || 0, traceback: error.full_message(highlight: false, order: :top).scrub }
    end

    # Leaves out of a backtrace what is here.
    def clean(error)
      while error
        trace = error.backtrace
        if trace && !error.frozen?
          trace = trace.reject { |l| l.start_with?("<coderunner>") }
          trace.pop while trace.last&.match?(/\Aeval:1:in '<main>'\z|:in 'Kernel\.eval'\z/)
          error.set_backtrace(trace.map { |l| l.sub("in '<compiled>'", "in '<main>'") })
        end
        error = error.cause
      end
    end

    def options(args)
      @code, @wraps, @check = [], nil, false
      @name = nil
      until args.empty? || @name
        case arg = args.shift
        when "-e" then @code.push(args.shift || raise(Usage, "no code specified for -e"))
        when "-r", "-I" then @before = [*@before, [arg, args.shift]]
        when /\A-r(.+)/ then @before = [*@before, ["-r", $1]]
        when /\A-I(.+)/ then @before = [*@before, ["-I", $1]]
        when "-n", "-p", "-ne", "-pe", "-lne", "-lpe", "-nle", "-ple", "-ane", "-lane"
          @wraps, @lines, @splits = arg.include?("p") ? :p : :n, arg.include?("l"), arg.include?("a")
          @code.push(args.shift || raise(Usage, "no code specified for -e")) if arg.end_with?("e")
        when "-c" then @check = true
        when "-v", "--version"
          puts RUBY_DESCRIPTION
          return if args.empty?
        when "-w", "-W", /\A-W/ then $VERBOSE = arg != "-W0" || nil
        when "--" then @name = args.shift
        when "-" then @name = "-"
        when /\A-/ then raise Usage, "invalid option #{arg}  (this build takes -e, -n, -p, -l, -a, -r, -I, -c, -w and -v)"
        else @name = arg
        end
        return (@done = true) if %w[-v --version].include?(arg) && args.empty?
      end
      (args.unshift(@name); @name = nil) if @name && !@code.empty?
      ARGV.replace(args)
    end

    def program
      return if @done
      @before&.each { |kind, what| kind == "-r" ? require(what) : $LOAD_PATH.unshift(File.expand_path(what)) }
      name, text = source
      @name = name
      $0 = name
      text = wrapped(text) if @wraps
      sequence = RubyVM::InstructionSequence.compile(text, name, File.exist?(name) ? File.realpath(name) : name, 1)
      return puts("Syntax OK") if @check
      data(name, text)
      value = @session ? TOPLEVEL_BINDING.eval(text, name) : sequence.eval
      @value = value.inspect if @inspects && !value.nil?
    end

    attr_accessor :inspects, :session

    def source
      return ["-e", @code.join("\n")] unless @code.empty?
      return ["-", $stdin.read] if @name.nil? || @name == "-"
      [@name, File.read(@name, encoding: "UTF-8")]
    rescue SystemCallError => e
      raise Usage, "#{e.message.sub(/ @ \w+/, "")} (LoadError)"
    end

    def wrapped(text)
      "while gets#{"(chomp: true)" if @lines};#{"$F = $_.split;" if @splits} #{text};#{@lines ? "puts $_;" : "print $_;" if @wraps == :p} end"
    end

    # Makes DATA what follows __END__.
    def data(name, text)
      at = text.index(/^__END__$\n?/)
      return unless at && File.exist?(name)
      file = File.open(name)
      file.seek(text[0...at].bytesize + $&.bytesize)
      Object.const_set(:DATA, file)
    end
  end
end

module CodeRunner
  # Runs a command of the shell and returns its exit status and, with "o", what it printed.
  def self.start(mode, words, dir: Dir.pwd, **rest)
    raise ArgumentError, "unknown option #{rest.keys.first} of a process (this build takes chdir: and exception:)" unless rest.empty?
    env = words.first.is_a?(Hash) ? words.shift : {}
    words.map! { |w| w.is_a?(Array) ? w.first : w.to_s }
    command = words.size == 1 ? words.first : words.map { |w| "'#{w.gsub("'", "'\\\\''")}'" }.join(" ")
    $stdout.flush
    File.open("/dev/process", "r+b") do |f|
      f.sync = true
      f.write([mode, File.expand_path(dir), command, *ENV.to_h.merge(env).reject { |_, v| v.nil? }.map { |k, v| "#{k}=#{v}" }].join("\0"))
      $coderunner_status = Status.new(f.gets.to_i)
      [$coderunner_status.exitstatus, f.read.force_encoding("UTF-8")]
    end
  end

  # What $? is, whose own class only a system call makes.
  Status = Struct.new(:exitstatus) do
    def to_i = exitstatus << 8
    def success? = exitstatus == 0
    def exited? = true
    def signaled? = false
    def pid = 0
    def ==(other) = to_i == other.to_i
    def to_s = "pid #{pid} exit #{exitstatus}"
    def inspect = "#<Process::Status: #{self}>"
  end
end

module Kernel
  def at_exit(&block) = CodeRunner.later(block) && block

  def system(*words, exception: false, chdir: Dir.pwd, **rest)
    status, = CodeRunner.start("s", words, dir: chdir, **rest)
    raise "Command failed with exit #{status}: #{words.first}" if exception && status != 0
    status == 127 ? nil : status == 0
  end

  def `(command) = CodeRunner.start("o", [command]).last

  def exec(*words, **rest) = exit!(CodeRunner.start("s", words, **rest).first)

  # WASI has no call that makes a process beside this one.
  %i[fork spawn].each do |name|
    define_method(name) { |*| raise NotImplementedError, "#{name} starts a process that runs beside this one, which Ruby in WebAssembly cannot; system and backticks wait for one" }
  end
  private :system, :`, :exec, :fork, :spawn
end

%i[fork spawn].each { |name| Process.define_singleton_method(name) { |*| Kernel.instance_method(name).bind_call(self) } }
alias $? $coderunner_status
Process.define_singleton_method(:last_status) { $? }
$stdout.sync = true unless $stdout.sync
CodeRunner.begun
