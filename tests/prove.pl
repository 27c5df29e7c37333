#!/usr/bin/perl
# Runs test programs that print TAP, as prove does, and ends with the line "N passed, N failed".
#
#   prove.pl [--limit=SECONDS] TEST...
#
# Scripts are run by bash; a fuzz target's replay gets its corpus. A test that outlives its limit
# (300 s), dies, or breaks its plan counts as failed even when each line it printed was "ok".
use strict;
use warnings;
use TAP::Harness;

my $limit = 300;
my @tests = grep { !(/^--limit=(\d+)$/ && ($limit = $1)) } @ARGV;

sub command_of {
    my ($harness, $test) = @_;
    my @limited = ('timeout', '-k', '5', $limit);
    return [@limited, 'bash', $test] if $test =~ /\.sh$/;
    return [@limited, $test, "tests/fuzz/corpus/$1"] if $test =~ m{/replay_(\w+)$};
    return [@limited, $test];
}

$| = 1;
my $harness = TAP::Harness->new(
    {exec => \&command_of, failures => 1, errors => 1, color => -t STDOUT});
my ($passed, $failed, $skipped) = (0, 0, 0);
$harness->callback(
    after_test => sub {
        my ($job, $parser) = @_;
        my $bad = $parser->failed;
        $passed  += $parser->passed - $parser->skipped;
        $skipped += $parser->skipped || ($parser->skip_all ? 1 : 0);
        $failed  += $bad || ($parser->has_problems ? 1 : 0);
        print "# $job->[0]: stopped after its limit of $limit seconds\n" if $parser->exit == 124;
    });
$harness->runtests(@tests) if @tests;
print "$passed passed, $failed failed" . ($skipped ? ", $skipped skipped" : '') . "\n";
exit($failed || !$passed ? 1 : 0);
