# Storable, which the build of Perl lacks: copies of structures, and structures as the text of
# Data::Dumper.
package Storable;
use strict;
use warnings;
use Exporter 'import';
use Scalar::Util ();

our @EXPORT = qw(store retrieve);
our @EXPORT_OK = qw(dclone freeze nfreeze thaw nstore lock_store lock_retrieve lock_nstore);

sub dclone { my %seen; copy($_[0], \%seen) }

sub copy {
    my ($from, $seen) = @_;
    return $from if !ref $from;
    my $at = Scalar::Util::refaddr($from);
    return $seen->{$at} if $seen->{$at};
    my ($type, $to) = Scalar::Util::reftype($from);
    if ($type eq 'HASH') {
        $seen->{$at} = $to = {};
        $to->{$_} = copy($from->{$_}, $seen) for keys %$from;
    } elsif ($type eq 'ARRAY') {
        $seen->{$at} = $to = [];
        push @$to, copy($_, $seen) for @$from;
    } elsif ($type eq 'SCALAR' || $type eq 'REF') {
        my $value;
        $seen->{$at} = $to = \$value;
        $value = copy($$from, $seen);
    } else {
        die "Can't store $type items";
    }
    my $class = Scalar::Util::blessed($from);
    return defined $class ? bless $to, $class : $to;
}

sub freeze { require Data::Dumper; local $Data::Dumper::Purity = 1; local $Data::Dumper::Indent = 0; Data::Dumper->Dump([$_[0]], ['structure']) }
sub thaw { my $structure; eval $_[0]; die $@ if $@; $structure }
sub store { my ($what, $file) = @_; open my $f, '>', $file or die "can't create $file: $!"; print $f freeze($what); close $f }
sub retrieve { my ($file) = @_; open my $f, '<', $file or die "can't open $file: $!"; local $/; thaw(scalar <$f>) }
{ no warnings 'once'; *nfreeze = \&freeze; *nstore = *lock_store = *lock_nstore = \&store; *lock_retrieve = \&retrieve; }

1;
